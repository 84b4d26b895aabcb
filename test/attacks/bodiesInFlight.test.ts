import { type ClientHttp2Stream, connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { expect, test } from "vitest";
import { type Caller, unrestrictedGrants } from "../../src/platform/authorization/authorization.ts";
import { leastPieceBytes, smallBodyBytes } from "../../src/platform/http/limits.ts";
import { startEdges } from "../rpc/support/startEdges.ts";
import { eventually } from "../support/eventually.ts";

const room = 200_000;
const body = `{"name":"payments"${" ".repeat(70_000)}}`;
/** The binary form of the body, with an unknown field. */
const named: Uint8Array = new BinaryWriter().tag(1, 2).string("payments").tag(99, 2).bytes(new Uint8Array(70_000)).finish();

/** A root key of its own for every token. */
const start = () =>
  startEdges({
    capacity: { bodyBytes: room },
    authenticate: ({ authorization = "" }): Caller => ({
      rootKeyId: authorization,
      name: undefined,
      expires: undefined,
      grants: unrestrictedGrants,
    }),
  });

interface Trickle {
  readonly stream: ClientHttp2Stream;
  status: number | undefined;
  text: string;
}

const kinds = [
  ["/v2", "/v2/apis.createApi", "application/json"],
  ["gRPC", "/latchkey.v2.ApisService/CreateApi", "application/grpc"],
  ["gRPC in JSON", "/latchkey.v2.ApisService/CreateApi", "application/grpc+json"],
  ["gRPC-Web", "/latchkey.v2.ApisService/CreateApi", "application/grpc-web+proto"],
  ["Connect", "/latchkey.v2.ApisService/CreateApi", "application/json"],
] as const;

test.each(kinds)("slow bodies are bounded in bytes, and the caller with most of them makes room for others (%s)", async (_, path, type) => {
  await using edges = await start();
  const session = connect(edges.url);
  const trickle = (): Trickle => {
    const headers = { ":method": "POST", ":path": path, "content-type": type, te: "trailers", authorization: "hog" };
    const stream = session.request(headers);
    const seen: Trickle = { stream, status: undefined, text: "" };
    stream.on("error", () => undefined);
    for (const event of ["response", "trailers"] as const) {
      stream.on(event, (fields) => {
        seen.status ??= Number(fields["grpc-status"] ?? (fields[":status"] === 200 ? Number.NaN : fields[":status"])) || undefined;
      });
    }
    stream.setEncoding("latin1").on("data", (chunk: string) => {
      seen.text += chunk;
    });
    stream.write(Buffer.alloc(1_000, 32));
    return seen;
  };
  const hogs = Array.from({ length: 20 }, trickle);
  const refused = () => hogs.filter(({ status, text }) => status !== undefined || text.includes("grpc-status"));
  // Each counts 1,000 bytes and what a request that is awaited takes.
  const most = Math.floor(room / 17_384);
  await eventually(() => expect(refused()).toHaveLength(20 - most));
  for (const { status, text } of refused())
    expect(text.includes("grpc-status: 14") ? 503 : status).toSatisfy((code) => code === 503 || code === 14);

  const answer = await fetch(`${edges.url}/v2/apis.createApi`, {
    method: "POST",
    headers: { authorization: "other", "content-type": "application/json" },
    body,
  });
  expect(answer.status).toBe(200);
  session.destroy();
});

test("a body in the smallest pieces that are taken counts for what those take", async () => {
  await using edges = await start();
  const session = connect(edges.url);
  const stream = session.request({
    ":method": "POST",
    ":path": "/v2/apis.createApi",
    "content-type": "application/json",
    authorization: "a",
  });
  let status: unknown;
  stream.on("error", () => undefined);
  stream.on("response", (fields) => {
    status = fields[":status"];
  });
  stream.resume();
  let sent = 0;
  while (status === undefined && sent < 3_000) {
    sent++;
    await new Promise((resolve) => stream.write(" ".repeat(leastPieceBytes), resolve));
  }
  expect(status).toBe(503);
  session.destroy();
});

test("large bodies in flight count until they are answered", async () => {
  const { promise, resolve } = Promise.withResolvers<object>();
  await using edges = await startEdges({ capacity: { bodyBytes: room }, invoke: () => promise });
  const send = (): Promise<Response> =>
    fetch(`${edges.url}/v2/apis.createApi`, { method: "POST", headers: { authorization: "a", "content-type": "application/json" }, body });
  const first = [send(), send()];
  await eventually(() => expect(edges.invocations).toHaveLength(2));
  expect((await send()).status).toBe(503);
  resolve({});
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await send()).status).toBe(200);
});

test("the decoded size of many values in a small body counts until it is answered", async () => {
  const { promise, resolve } = Promise.withResolvers<object>();
  await using edges = await startEdges({ capacity: { bodyBytes: 10 * room }, invoke: () => promise });
  const small = `{"migrationId":"mig","apiId":"api","keys":[${Array(4_000).fill('{"hash":"abc"}').join(",")}]}`;
  expect(small.length).toBeLessThan(smallBodyBytes);
  const send = (): Promise<Response> =>
    fetch(`${edges.url}/v2/keys.migrateKeys`, {
      method: "POST",
      headers: { authorization: "a", "content-type": "application/json" },
      body: small,
    });
  const calls = Array.from({ length: 10 }, send);
  await eventually(() => expect(edges.invocations.length).toBeGreaterThan(1));
  expect((await send()).status).toBe(503);
  resolve({});
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(3);
  expect(statuses).toContain(503);
  expect((await send()).status).toBe(200);
});

test("compressed messages that wait for their turn count, and for a line without end there is no room", async () => {
  await using edges = await startEdges({ capacity: { bodyBytes: room } });
  const session = connect(edges.url);
  const headers = {
    ":method": "POST",
    ":path": "/latchkey.v2.ApisService/CreateApi",
    "content-type": "application/json",
    "content-encoding": "gzip",
    authorization: "a",
  };
  const message = gzipSync(`{"name":"payments"${" ".repeat(60_000)}}`);
  const send = (): Promise<unknown> =>
    new Promise((done) => {
      const stream = session.request(headers);
      stream.on("response", (fields) => done(fields[":status"]));
      stream.resume();
      stream.end(message);
    });
  expect(new Set(await Promise.all(Array.from({ length: 100 }, send)))).toEqual(new Set([200, 503]));
  expect(await send()).toBe(200);
  session.destroy();
});

test.each([
  ["gRPC", "/latchkey.v2.ApisService/CreateApi", "application/grpc", "grpc-encoding"],
  ["Connect", "/latchkey.v2.ApisService/CreateApi", "application/json", "content-encoding"],
])("the decompressed size of a message counts until it is answered (%s)", async (_, path, type, encodingHeader) => {
  const { promise, resolve } = Promise.withResolvers<object>();
  await using edges = await startEdges({ capacity: { bodyBytes: room }, invoke: () => promise });
  const session = connect(edges.url);
  const message = type === "application/json" ? gzipSync(body) : gzipSync(named);
  const head = Buffer.alloc(5);
  head[0] = 1;
  head.writeUInt32BE(message.length, 1);
  const send = (): Promise<string> =>
    new Promise((done) => {
      const headers = {
        ":method": "POST",
        ":path": path,
        "content-type": type,
        te: "trailers",
        authorization: "a",
        [encodingHeader]: "gzip",
      };
      const stream = session.request(headers);
      for (const event of ["response", "trailers"] as const) {
        stream.on(event, (fields) => {
          if (fields["grpc-status"] !== undefined) done(`grpc ${fields["grpc-status"]}`);
          else if (type === "application/json") done(`http ${fields[":status"]}`);
        });
      }
      stream.resume();
      stream.end(type === "application/json" ? message : Buffer.concat([head, message]));
    });
  const first = [send(), send()];
  await eventually(() => expect(edges.invocations).toHaveLength(2));
  expect(await send()).toMatch(/^(http 503|grpc 14)$/);
  resolve({});
  expect(new Set(await Promise.all(first))).toEqual(new Set([type === "application/json" ? "http 200" : "grpc 0"]));
  expect(await send()).toMatch(/^(http 200|grpc 0)$/);
  session.destroy();
});
