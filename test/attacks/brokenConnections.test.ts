import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { frame, literal, openRawHttp2 } from "../../bench/attacks/rawHttp2.ts";
import { pingTimeout } from "../../src/platform/http/limits.ts";
import { type Edges, startEdges } from "../rpc/support/startEdges.ts";
import { eventually } from "../support/eventually.ts";
import { liveness, open } from "./support/sessions.ts";

const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(SETTINGS, 0, 0, Buffer.alloc(0))]);
const goaway = frame(GOAWAY, 0, 0, Buffer.alloc(8));
const ping = frame(PING, 0, 0, Buffer.alloc(8));
const request = (path: string, method = "GET"): Buffer =>
  Buffer.concat([literal(":method", method), literal(":scheme", "http"), literal(":authority", "x"), literal(":path", path)]);

const openSocket = async ({ port }: Edges, from = "127.0.0.1"): Promise<Socket> => {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from }).setNoDelay();
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined).resume();
  await once(socket, "connect");
  return socket;
};

/** Exceptions that no handler caught, until the test is over. */
const uncaughtErrors = (): unknown[] => {
  const errors: unknown[] = [];
  const others = process.listeners("uncaughtException");
  const record = (error: unknown): void => void errors.push(error);
  for (const other of others) process.off("uncaughtException", other);
  process.on("uncaughtException", record);
  onTestFinished(() => {
    process.off("uncaughtException", record);
    for (const other of others) process.on("uncaughtException", other);
  });
  return errors;
};

describe("[protocol §9] connections that break off while they begin", () => {
  test("a connection that ends its session in its first bytes and sends more ends no process, while others open many streams", async () => {
    await using edges = await startEdges();
    const errors = uncaughtErrors();
    for (let round = 0; round < 5; round++) {
      const flooding = await Promise.all(
        Array.from({ length: 4 }, () => openRawHttp2({ host: "127.0.0.1", port: edges.port }, "127.0.0.2")),
      );
      for (const connection of flooding)
        void connection.write(Buffer.concat(Array.from({ length: 128 }, () => connection.request(request("/v2/none")))));
      await sleep(5);
      const ending = await Promise.all(Array.from({ length: 8 }, () => openSocket(edges)));
      for (const socket of ending) socket.write(Buffer.concat([preface, goaway]));
      for (let i = 0; i < 3; i++) {
        await sleep(5);
        for (const socket of ending) socket.write(ping);
      }
      for (const { socket } of flooding) socket.destroy();
    }
    await eventually(async () => expect(await liveness(await open(edges.url))).toBe(200));
    expect(errors).toEqual([]);
  });

  const garbage = Buffer.alloc(30, 0xff);
  const shortPing = frame(PING, 0, 0, Buffer.alloc(3));
  test.each([
    ["a whole request", 5, garbage],
    ["a request whose body never comes", 4, garbage],
    ["a whole request, and a ping that is too short", 5, shortPing],
  ])("%s, a GOAWAY and an invalid frame in one write: the connection ends and counts no longer", async (_name, flags, invalid) => {
    await using edges = await startEdges({ capacity: { addressConnections: 3 } });
    for (let i = 0; i < 3; i++) {
      const socket = await openSocket(edges);
      await new Promise((resolve) =>
        socket.write(Buffer.concat([preface, frame(1, flags, 1, request("/v2/liveness")), goaway, invalid]), resolve),
      );
      socket.end();
    }
    await eventually(async () => expect(await liveness(await open(edges.url))).toBe(200));
  });

  test("a client that says it is leaving gets the answers that it still waits for", async () => {
    const gate = Promise.withResolvers<object>();
    await using edges = await startEdges({ invoke: () => gate.promise });
    const session = await open(edges.url);
    const stream = session.request({
      ":method": "POST",
      ":path": "/v2/apis.createApi",
      authorization: "Bearer x",
      "content-type": "application/json",
    });
    stream.end('{"name":"late"}');
    await eventually(() => expect(edges.invocations).toHaveLength(1));
    session.close();
    await sleep(pingTimeout + 1_000);
    gate.resolve({ data: { apiId: "api_1" } });
    expect((await once(stream, "response"))[0][":status"]).toBe(200);
  });

  const flights: readonly (readonly [string, Buffer])[] = [
    ["HTTP/2", Buffer.concat([preface, frame(1, 5, 1, request("/v2/liveness")), ping, goaway, ping])],
    ["HTTP/2 with a frame that is not valid", Buffer.concat([preface, frame(0, 0, 0, Buffer.alloc(8)), ping])],
    ["HTTP/1.1", Buffer.from("GET /v2/liveness HTTP/1.1\r\nHost: x\r\n\r\nGET /v2/livene")],
  ];
  const cuts: readonly (readonly [string, (socket: Socket) => void])[] = [
    ["reset", (socket) => socket.resetAndDestroy()],
    ["closed", (socket) => socket.destroy()],
    ["half-closed", (socket) => socket.end()],
  ];
  test.each(flights.flatMap(([protocol, bytes]) => cuts.map(([how, cut]) => [protocol, how, bytes, cut] as const)))(
    "%s, %s after each byte of the first flight: no exception, and the next client is served",
    async (_protocol, _how, bytes, cut) => {
      await using edges = await startEdges();
      const errors = uncaughtErrors();
      const sockets: Socket[] = [];
      for (let end = 0; end <= bytes.length; end++) {
        const socket = await openSocket(edges);
        sockets.push(socket);
        const half = Math.floor(end / 2);
        if (half > 0) socket.write(bytes.subarray(0, half));
        if (end % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
        if (end > 0) await new Promise((resolve) => socket.write(bytes.subarray(half, end), resolve));
        cut(socket);
      }
      await eventually(async () => expect(await liveness(await open(edges.url))).toBe(200));
      for (const socket of sockets) socket.destroy();
      expect(errors).toEqual([]);
    },
  );
});
