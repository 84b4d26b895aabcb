import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  barTime,
  begunInATurn,
  freeBodyPieces,
  leastPieceBytes,
  offenceCost,
  pipelinedRequests,
  streamResets,
} from "../../src/platform/http/limits.ts";
import { type EdgesOptions, startEdges } from "../rpc/support/startEdges.ts";
import { eventually } from "../support/eventually.ts";

const liveness = "GET /v2/liveness HTTP/1.1\r\nhost: x\r\n\r\n";
const createApi = (name: string): string => {
  const body = JSON.stringify({ name });
  return `POST /v2/apis.createApi HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};

/** A connection, and what came on it so far. */
const open = async (port: number, from = "127.0.0.1"): Promise<{ readonly socket: Socket; readonly text: () => string }> => {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return { socket, text: () => text };
};
/** Also by a reset: what the other end has not read is lost then. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once("close", () => resolve()));
const answers = (text: string): number => text.split("HTTP/1.1 200 ").length - 1;

describe("requests that a connection sends ahead of their answers", () => {
  test("are answered in their order, one after the other", async () => {
    let running = 0;
    let most = 0;
    const invoke: EdgesOptions["invoke"] = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return {};
    };
    await using edges = await startEdges({ invoke });
    const { socket, text } = await open(edges.port);
    const names = Array.from({ length: pipelinedRequests }, (_, i) => `api-${i}`);
    socket.write(names.map(createApi).join(""));
    await eventually(() => expect(answers(text())).toBe(names.length));
    expect(edges.invocations.map(({ message }) => (message as unknown as { name: string }).name)).toEqual(names);
    expect(most).toBe(1);
    socket.write(liveness);
    await eventually(() => expect(answers(text())).toBe(names.length + 1));
  });

  test("a bounded number of calls from many connections starts in each turn of the event loop", async () => {
    let begun = 0;
    let most = 0;
    const invoke: EdgesOptions["invoke"] = () => {
      if (begun++ === 0) {
        setImmediate(() => {
          most = Math.max(most, begun);
          begun = 0;
        });
      }
      return {};
    };
    await using edges = await startEdges({ invoke });
    const connections = await Promise.all(Array.from({ length: 20 }, () => open(edges.port)));
    for (const { socket } of connections) socket.write(createApi("api").repeat(20));
    await eventually(() => expect(connections.map(({ text }) => answers(text()))).toEqual(connections.map(() => 20)));
    expect(most).toBeLessThanOrEqual(begunInATurn + connections.length);
  });

  test("are looked at up to a bound: the connection that sends more is closed, and where many do no other begins from there for a while", async () => {
    let now = 0;
    await using edges = await startEdges({ clock: { now: Date.now, monotonic: () => now } });
    for (let i = 0; i <= streamResets / offenceCost; i++) {
      const { socket, text } = await open(edges.port);
      socket.write(liveness.repeat(1_000));
      await closed(socket);
      expect(answers(text())).toBeLessThanOrEqual(pipelinedRequests + 1);
    }
    const { socket: next, text: heard } = await open(edges.port);
    next.write(liveness);
    await closed(next);
    expect(heard()).toBe("");
    const { socket: elsewhere, text: served } = await open(edges.port, "127.0.0.2");
    elsewhere.write(liveness);
    await eventually(() => expect(answers(served())).toBe(1));
    now = barTime;
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
  });

  test("of the connections through a trusted proxy only the one that sent too many ends", async () => {
    await using edges = await startEdges({ trustedProxies: ["127.0.0.1/32"] });
    const { socket } = await open(edges.port);
    socket.write(liveness.repeat(1_000));
    await closed(socket);
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
  });
});

describe("a body in pieces", () => {
  const head =
    "POST /v2/apis.createApi HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
  const chunked = (text: string, size: number): string => {
    const chunks = [];
    for (let at = 0; at < text.length; at += size) chunks.push(text.slice(at, at + size));
    return `${[...chunks, ""].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")}`;
  };
  const body = (length: number): string => `{"name":"api"${" ".repeat(length - 14)}}`;

  test.each([
    ["of a byte each, few enough", freeBodyPieces, 1],
    ["of any number, large enough", 20_000, leastPieceBytes],
  ])("%s is read", async (_, length, size) => {
    await using edges = await startEdges();
    const { socket, text } = await open(edges.port);
    socket.write(head + chunked(body(length), size));
    await eventually(() => expect(answers(text())).toBe(1));
  });

  test.each([
    ["with a root key", head],
    ["without one", head.replace("authorization: Bearer x\r\n", "")],
    ["with extensions of its chunks", head],
  ])("that is too many and too small ends the connection, and not a call is made: %s", async (kind, start) => {
    await using edges = await startEdges();
    const { socket } = await open(edges.port);
    const pieces = chunked(body(100_000), 1);
    socket.write(start + (kind.startsWith("with extensions") ? pieces.replaceAll(/^1\r\n/gm, "1;extension=0123456789\r\n") : pieces));
    await closed(socket);
    expect(edges.invocations).toEqual([]);
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
  });
});
