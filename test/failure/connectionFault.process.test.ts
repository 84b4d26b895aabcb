import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { frame } from "../../bench/attacks/rawHttp2.ts";
import { startService } from "../../bench/harness/latchkeyProcess.ts";
import { eventually } from "../support/eventually.ts";

/** Has Node buffer the first bytes of a connection in two chunks, which makes its HTTP/2 throw when the first one ends the session. */
const preload = `data:text/javascript,${encodeURIComponent(`
  import { Socket } from "node:net";
  const { unshift } = Socket.prototype;
  Socket.prototype.unshift = function (chunk) {
    unshift.call(this, chunk.subarray(-17));
    return unshift.call(this, chunk.subarray(0, -17));
  };
`)}`;

const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const flight = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(SETTINGS, 0, 0, Buffer.alloc(0)),
  frame(GOAWAY, 0, 0, Buffer.alloc(8)),
  frame(PING, 0, 0, Buffer.alloc(8)),
]);

test("an exception inside Node that belongs to one connection ends that connection only; it is logged and counted", async () => {
  await using service = await startService({ env: { NODE_OPTIONS: `--import "${preload}"` } });
  const faults = async (): Promise<string | undefined> =>
    /^latchkey_connection_faults_total (\d+)$/m.exec(await (await fetch(`${service.adminUrl}/metrics`)).text())?.[1];
  expect(await faults()).toBe("0");
  const { port, hostname } = new URL(service.url);
  const kept = connectHttp2(service.url);
  await once(kept, "remoteSettings");
  for (let i = 0; i < 3; i++) {
    const socket = connect({ port: Number(port), host: hostname });
    socket.on("error", () => undefined).resume();
    const closed = once(socket, "close");
    socket.write(flight);
    await closed;
  }
  await eventually(async () => expect(await faults()).toBe("3"));
  const stream = kept.request({ ":path": "/v2/liveness" }).resume();
  const [headers] = await once(stream, "response");
  expect(headers[":status"]).toBe(200);
  kept.destroy();
  expect(service.output.stderr).toContain("exception inside Node ended a connection");
  expect(service.output.stderr).not.toContain("unhandled error");
  expect(await service.stop()).toBe(0);
});
