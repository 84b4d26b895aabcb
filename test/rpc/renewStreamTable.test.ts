import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { types } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRenewStreamTable } from "../../src/rpc/http/renewStreamTable.ts";

const server = createServer();
let latest: ServerHttp2Session;
server.on("session", (session) => {
  latest = session;
  session.on("stream", createRenewStreamTable(session));
});
server.on("stream", (stream: ServerHttp2Stream) => {
  stream.on("error", () => undefined);
  stream.on("end", () => {
    if (stream.destroyed) return;
    stream.respond({ ":status": 200 });
    stream.end("done");
  });
  stream.resume();
});

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => void server.close());

const open = (): ClientHttp2Session => connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
const begin = (client: ClientHttp2Session): ClientHttp2Stream => client.request({ ":method": "POST", ":path": "/" });
const finish = async (stream: ClientHttp2Stream): Promise<string> => {
  stream.end();
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += chunk;
  return text;
};

/** Where node 26 keeps the streams of a session: a version that keeps them elsewhere is to be noticed here. */
const tablesOf = (session: ServerHttp2Session): { readonly streams?: Map<number, unknown>; readonly pendingStreams?: Set<unknown> } => {
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === "state") as symbol;
  return (session as unknown as Record<symbol, object>)[key] ?? {};
};

test("the table of a session's open streams is made anew, and what is in it stays", async () => {
  const client = open();
  const early = begin(client);
  early.write("a");
  expect(await finish(begin(client))).toBe("done");
  const { streams: first, pendingStreams: firstPending } = tablesOf(latest);
  expect(types.isMap(first)).toBe(true);
  expect(types.isSet(firstPending)).toBe(true);
  for (let i = 0; i < 20; i++) {
    expect(await Promise.all(Array.from({ length: 10 }, () => finish(begin(client))))).toEqual(Array(10).fill("done"));
  }
  const { streams: last, pendingStreams: lastPending } = tablesOf(latest);
  expect(last).not.toBe(first);
  expect(lastPending).not.toBe(firstPending);
  expect(lastPending?.size).toBe(0);
  expect(last?.constructor).toBe(first?.constructor);
  expect([...(last ?? []).keys()]).toContain(early.id);
  expect(await finish(early)).toBe("done");
  // The session waits for its streams, and ends once its table is empty.
  const ended = once(latest, "close");
  latest.close();
  await ended;
  expect(tablesOf(latest).streams?.size).toBe(0);
});

test("a session that is destroyed ends the streams that were open before its table was made anew", async () => {
  const client = open();
  client.on("error", () => undefined);
  const early = begin(client);
  early.write("a");
  const failed = once(early, "close");
  early.on("error", () => undefined);
  for (let i = 0; i < 100; i++) await finish(begin(client));
  latest.destroy();
  await failed;
  expect(early.destroyed).toBe(true);
});
