// @same-on-every-engine
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, expect, test } from "vitest";
import { addressAdminConnections } from "../../src/platform/http/limits.ts";
import { startApi } from "../support/api.ts";
import { createAuthority } from "../support/authority.ts";
import { eventually } from "../support/eventually.ts";
import { engines } from "../support/stores.ts";

const [engine] = engines;
if (engine === undefined) throw new Error("there is no store to test on");
afterAll(() => engine.close());

test("connections of one address to the admin port are bounded, half-open handshakes too: probes of others are answered", async () => {
  const { certFile, keyFile } = createAuthority("root").issue("admin");
  const api = await startApi(engine, { env: { ADMIN_TLS_CERT: certFile, ADMIN_TLS_KEY: keyFile } });
  const port = Number(new URL(api.adminUrl).port);
  const opened: Socket[] = [];
  let closed = 0;
  try {
    for (let i = 0; i < addressAdminConnections + 20; i++) {
      const socket = connect({ port, host: "127.0.0.1" });
      opened.push(socket.on("error", () => undefined).on("close", () => closed++));
    }
    await eventually(() => expect(closed).toBe(20));
    const other = connectTls({ socket: connect({ port, host: "127.0.0.1", localAddress: "127.0.0.2" }), rejectUnauthorized: false });
    opened.push(other);
    other.write("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(String((await once(other, "data"))[0])).toContain("200 OK");
  } finally {
    for (const socket of opened) socket.destroy();
    await api.close();
  }
});
