import { once } from "node:events";
import { connect as connectHttp2, createServer, type ServerHttp2Session, type SessionState } from "node:http2";
import { expect, test } from "vitest";
import { silentSessionChecks } from "../../src/rpc/http/limits.ts";
import { createSilenceCheck } from "../../src/rpc/http/silenceCheck.ts";

test("[design §1] an HTTP/2 connection on which nothing moves is asked to go, once", () => {
  let left = 0;
  const check = createSilenceCheck({ state: { lastProcStreamID: 1 }, close: () => void left++ });
  for (let i = 0; i < silentSessionChecks; i++) check();
  expect(left).toBe(0);
  for (let i = 0; i < silentSessionChecks; i++) check();
  expect(left).toBe(1);
});

test("[design §1] calls and data of a real connection are seen", async () => {
  const server = createServer((req, res) => req.pipe(res)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const client = connectHttp2(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
  const [session]: ServerHttp2Session[] = await once(server, "session");
  await new Promise((resolve) => client.ping(resolve));
  let left = 0;
  const check = createSilenceCheck({
    get state(): SessionState {
      return session?.state ?? {};
    },
    close: () => void left++,
  });
  const stream = client.request({ ":method": "POST" });
  for (let part = 0; part < 3; part++) {
    for (let i = 0; i < silentSessionChecks; i++) check();
    stream.write("part");
    await once(stream, "data");
  }
  for (let i = 0; i < silentSessionChecks; i++) check();
  expect(left).toBe(0);
  check();
  expect(left).toBe(1);
  client.destroy();
  server.close();
});
