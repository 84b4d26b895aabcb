import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import { type ServerReflectionRequest, ServerReflectionRequestSchema } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { createReflectionService } from "../../src/platform/rpc/standard/reflection.ts";
import { services } from "../../src/service/services.ts";
import { type Edges, startEdges } from "../rpc/support/startEdges.ts";
import { eventually } from "../support/eventually.ts";

const reflectionPath = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const watchPath = "/grpc.health.v1.Health/Watch";

const frame = (message: Uint8Array): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};
const question = (symbol = "latchkey.v2.KeysService"): Buffer =>
  frame(
    toBinary(
      ServerReflectionRequestSchema,
      create(ServerReflectionRequestSchema, { messageRequest: { case: "fileContainingSymbol", value: symbol } }),
    ),
  );

const sessions: ClientHttp2Session[] = [];
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});

/** @param window what the client is willing to receive on each stream, in bytes. */
const open = async (edges: Edges, window = 65_535): Promise<ClientHttp2Session> => {
  const session = connect(edges.url, { settings: { initialWindowSize: window } });
  sessions.push(session);
  await once(session, "remoteSettings");
  return session;
};

interface Started {
  readonly stream: ClientHttp2Stream;
  /** That of gRPC, once there is one. */
  readonly status: () => string | undefined;
}

/** @param isOpen its request does not come to an end. */
const start = (session: ClientHttp2Session, path: string, body: Buffer, isOpen = path === reflectionPath): Started => {
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" });
  let status: string | undefined;
  stream.on("error", () => undefined);
  for (const event of ["response", "trailers"] as const) {
    stream.on(event, (headers) => {
      status = (headers["grpc-status"] as string | undefined) ?? status;
    });
  }
  if (isOpen) stream.write(body);
  else stream.end(body);
  stream.resume();
  return { stream, status: () => status };
};

describe("streams without credentials", () => {
  test.each([
    ["reflection streams", reflectionPath, question(), 4, 64],
    ["watches of the health", watchPath, Buffer.alloc(5), 16, 256],
  ])("%s are few for each connection and address; more are unavailable", async (_name, path, body, perConnection, perAddress) => {
    await using edges = await startEdges();
    const connections = perAddress / perConnection + 4;
    const all = [];
    for (let i = 0; i < connections; i++) {
      const session = await open(edges);
      const streams = Array.from({ length: perConnection + 3 }, (_, i) =>
        start(session, path, body, path === reflectionPath || i % 2 === 0),
      );
      await eventually(() => expect(streams.filter(({ status }) => status() === "14").length).toBeGreaterThanOrEqual(3));
      all.push(...streams);
    }
    expect(all.filter(({ status }) => status() === undefined)).toHaveLength(perAddress);
    // They come back as soon as a client leaves.
    sessions[0]?.destroy();
    const session = await open(edges);
    const next = start(session, path, body);
    await once(next.stream, "response");
    expect(next.status()).toBeUndefined();
  });

  test("an answer that is never read is not kept", async () => {
    await using edges = await startEdges({ unreadTimeout: 200 });
    const session = await open(edges, 0);
    const streams = Array.from({ length: 4 }, () => start(session, reflectionPath, question()));
    await Promise.all(
      streams.map(({ stream }) => new Promise<void>((resolve) => void (stream.closed ? resolve() : stream.once("close", resolve)))),
    );
    // Other clients are not affected: neither one that reads nor one that has nothing to read.
    const other = await open(edges);
    const watch = start(other, watchPath, Buffer.alloc(5));
    await once(watch.stream, "data");
    for (let i = 0; i < 10; i++) {
      const reading = start(other, reflectionPath, question());
      await once(reading.stream, "data");
      reading.stream.end();
      await once(reading.stream, "close");
      await new Promise((resolve) => setTimeout(resolve, 60));
      expect(reading.status()).toBe("0");
    }
    expect(watch.stream.closed).toBe(false);
  });

  test("reflection can be switched off; health stays", async () => {
    await using edges = await startEdges({ reflection: false });
    const session = await open(edges);
    const refused = start(session, reflectionPath, question());
    await eventually(() => expect(refused.status()).toBe("12"));
    const watch = start(session, watchPath, Buffer.alloc(5));
    await once(watch.stream, "data");
  });

  test("a question of reflection leaves nothing behind, however long the service runs", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const { v1 } = createReflectionService(services, new AbortController().signal, async () => undefined);
    // The handler makes nothing of its context.
    const reflect = v1.serverReflectionInfo as unknown as (requests: AsyncIterable<ServerReflectionRequest>) => AsyncIterable<object>;
    const ask = async (times: number): Promise<void> => {
      async function* questions() {
        for (let i = 0; i < times; i++) {
          yield create(ServerReflectionRequestSchema, { messageRequest: { case: "listServices", value: "" } });
        }
      }
      for await (const _ of reflect(questions()));
    };
    const heap = async (): Promise<number> => {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
      return process.memoryUsage().heapUsed;
    };
    await ask(5_000);
    async function* never() {
      for (let i = 0; i < 50_000; i++) yield create(ServerReflectionRequestSchema, { messageRequest: { case: "listServices", value: "" } });
    }
    const before = await heap();
    // The stream stays open: what its end frees is no matter.
    const answers = reflect(never())[Symbol.asyncIterator]();
    for (let i = 0; i < 50_000; i++) await answers.next();
    expect((await heap()) - before).toBeLessThan(50_000 * 20);
    expect((await answers.next()).done).toBe(true);
  });

  test("reflection answers one question in each turn, and its streams take turns", async () => {
    const turns: (() => void)[] = [];
    const waitForTurn = () => new Promise<void>((resolve) => turns.push(resolve));
    const { v1 } = createReflectionService(services, new AbortController().signal, waitForTurn);
    const answered: string[] = [];
    const ask = async (stream: string): Promise<void> => {
      async function* questions() {
        for (let i = 0; i < 3; i++) yield create(ServerReflectionRequestSchema, { messageRequest: { case: "listServices", value: "" } });
      }
      const { serverReflectionInfo } = v1 as Required<typeof v1>;
      for await (const _ of serverReflectionInfo(questions(), {} as Parameters<typeof serverReflectionInfo>[1])) answered.push(stream);
    };
    const streams = [ask("a"), ask("b")];
    const expected = ["a", "b", "a", "b", "a", "b"];
    for (let given = 0; given < expected.length; given++) {
      await eventually(() => expect(turns.length).toBeGreaterThan(given));
      expect(answered).toEqual(expected.slice(0, given));
      turns[given]?.();
      await eventually(() => expect(answered).toHaveLength(given + 1));
    }
    await Promise.all(streams);
    expect(answered).toEqual(expected);
  });
});
