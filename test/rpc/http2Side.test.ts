import { once } from "node:events";
import { connect, type ServerHttp2Stream } from "node:http2";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { createHttp2Side } from "../../src/platform/http/http2Side.ts";
import { createPace } from "../../src/platform/http/pace.ts";

test("a stream that has ended keeps nothing of its call alive: it has no listeners any more, but hears its errors", async () => {
  const streams: ServerHttp2Stream[] = [];
  const side = createHttp2Side(() => undefined, createPace(10), {
    streams: ({ stream }) => {
      streams.push(stream);
      stream.on("data", () => undefined).on("end", () => stream.respond({ ":status": 200 }, { endStream: true }));
      stream.once("close", () => streams.push(stream));
      return true;
    },
  });
  const server = createServer(side.serve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
  try {
    const request = client.request({ ":method": "POST", ":path": "/" });
    request.end("body").resume();
    await once(request, "close");
    // Whoever listened to its end heard of it.
    await expect.poll(() => streams.length).toBe(2);
    expect(streams[0]?.eventNames()).toEqual(["error"]);
  } finally {
    client.destroy();
    server.close();
  }
});
