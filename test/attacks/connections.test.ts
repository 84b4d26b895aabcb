import { once } from "node:events";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { excessHeaderBytes, streamResets, swallowedBytes } from "../../src/rpc/limits.ts";
import { startEdges } from "../rpc/support/startEdges.ts";
import { eventually } from "../support/eventually.ts";

const sessions: ClientHttp2Session[] = [];
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});

/** @param from an address of this machine: all of 127/8 are. */
const open = async (url: string, from = "127.0.0.1"): Promise<ClientHttp2Session> => {
  const { hostname, port } = new URL(url);
  const socket = connectTcp({ host: hostname, port: Number(port), localAddress: from });
  socket.on("error", () => undefined);
  const session: ClientHttp2Session & { toldWhy?: number } = connect(url, { createConnection: () => socket });
  session.on("error", () => undefined);
  session.on("goaway", (code) => {
    session.toldWhy ??= code;
  });
  sessions.push(session);
  await Promise.race([once(session, "remoteSettings"), once(session, "close")]);
  return session;
};
const liveness = async (session: ClientHttp2Session, headers: Record<string, string> = {}): Promise<number | undefined> => {
  if (session.closed || session.destroyed) return undefined;
  const stream = session.request({ ":path": "/v2/liveness", ...headers });
  let status: number | undefined;
  stream.on("error", () => undefined);
  stream.on("response", (fields) => {
    status = Number(fields[":status"]);
  });
  stream.resume();
  await new Promise((resolve) => stream.once("close", resolve));
  return status;
};
const large = { "x-large": "a".repeat(15_000) };
const codeOf = (session: ClientHttp2Session): number | undefined => (session as { toldWhy?: number }).toldWhy;

describe("[attack B8] what connections may cost others", () => {
  test("header lists that are large after decompression are bounded in all; the connection that brings more is closed, others go on", async () => {
    let now = 0;
    await using edges = await startEdges({ clock: { now: Date.now, monotonic: () => now } });
    let answered = 0;
    let last: ClientHttp2Session | undefined;
    for (let i = 0; i < 20 && codeOf(last ?? ({} as ClientHttp2Session)) === undefined; i++) {
      last = await open(edges.url);
      for (let j = 0; j < 20; j++) if ((await liveness(last, large)) === 200) answered++;
    }
    expect(codeOf(last as ClientHttp2Session)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(answered).toBeLessThanOrEqual(excessHeaderBytes / 13_000);
    expect(answered).toBeGreaterThan(100);
    expect(await liveness(await open(edges.url))).toBeUndefined();
    expect(await liveness(await open(edges.url, "127.0.0.2"), large)).toBe(200);
    const refused = await fetch(`${edges.url}/v2/liveness`, { headers: large });
    expect([refused.status, refused.headers.get("connection")]).toEqual([503, "close"]);
    expect(await refused.json()).toMatchObject({ meta: { requestId: expect.stringMatching(/^req_/) }, error: { status: 503 } });
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
    now = 1_000;
    expect(await liveness(await open(edges.url), large)).toBe(200);
  });

  test("streams that clients reset are bounded over all connections of an address", async () => {
    await using edges = await startEdges({ clock: { now: Date.now, monotonic: () => 0 }, invoke: () => new Promise(() => undefined) });
    const reset = async (session: ClientHttp2Session, times: number): Promise<number> => {
      let done = 0;
      for (; done < times && !session.closed && !session.destroyed; done++) {
        const stream = session.request({ ":method": "POST", ":path": "/v2/apis.createApi", authorization: "Bearer x" });
        stream.on("error", () => undefined);
        await new Promise((resolve) => session.ping(resolve) || resolve(undefined));
        stream.close(constants.NGHTTP2_CANCEL);
      }
      return done;
    };
    let resets = 0;
    let closed = 0;
    for (let i = 0; i < 12; i++) {
      const session = await open(edges.url);
      resets += await reset(session, 150);
      await new Promise((resolve) => setImmediate(resolve));
      if (session.closed || session.destroyed || codeOf(session) !== undefined) closed++;
    }
    expect(closed).toBeGreaterThan(0);
    expect(resets).toBeLessThan(streamResets + 12 * 5);
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
    expect(await liveness(await open(edges.url, "127.0.0.2"))).toBe(200);
  });

  test("a client that closes its connection with calls on it has reset nothing", async () => {
    await using edges = await startEdges({ clock: { now: Date.now, monotonic: () => 0 }, invoke: () => new Promise(() => undefined) });
    for (let i = 0; i < 8; i++) {
      const session = await open(edges.url);
      for (let j = 0; j < 250; j++) {
        session.request({ ":method": "POST", ":path": "/v2/apis.createApi", authorization: "Bearer x" }).on("error", () => undefined);
      }
      await new Promise((resolve) => session.ping(resolve));
      session.destroy();
    }
    const session = await open(edges.url);
    const stream = session.request({ ":method": "POST", ":path": "/v2/apis.createApi", authorization: "Bearer x" });
    stream.on("error", () => undefined);
    await new Promise((resolve) => session.ping(resolve));
    stream.close(constants.NGHTTP2_CANCEL);
    expect(await liveness(session)).toBe(200);
  });

  test("what callers behind a trusted proxy do is refused by the address that it names, and its connection stays", async () => {
    await using edges = await startEdges({ clock: { now: Date.now, monotonic: () => 0 }, trustedProxies: ["127.0.0.1/32"] });
    const session = await open(edges.url);
    let refused = 0;
    for (let i = 0; i < 400; i++) if ((await liveness(session, { ...large, "x-forwarded-for": "192.0.2.1" })) === undefined) refused++;
    expect(refused).toBeGreaterThan(200);
    expect(await liveness(session, { ...large, "x-forwarded-for": "192.0.2.2" })).toBe(200);
    expect(await liveness(session, { "x-forwarded-for": "192.0.2.1" })).toBe(200);
    expect(await liveness(await open(edges.url))).toBe(200);
  });

  test("open streams are shared fairly between addresses when they run out", async () => {
    await using edges = await startEdges({ capacity: { maxInFlight: 64 }, invoke: () => new Promise(() => undefined) });
    const hold = async (from: string, times: number): Promise<number> => {
      const session = await open(edges.url, from);
      let refused = 0;
      for (let i = 0; i < times; i++) {
        const stream = session.request({ ":method": "POST", ":path": "/v2/apis.createApi", authorization: "Bearer x" });
        stream.on("error", () => undefined);
        stream.on("close", () => {
          if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) refused++;
        });
      }
      const settled = async (): Promise<number> => {
        const before = refused;
        await new Promise((resolve) => session.ping(resolve));
        await new Promise((resolve) => setTimeout(resolve, 20));
        return before === refused && refused > 0 ? times - refused : settled();
      };
      return settled();
    };
    expect(await hold("127.0.0.1", 200)).toBe(72);
    expect(await hold("127.0.0.2", 200)).toBe(40);
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
  });

  test("bodies that were answered unread are swallowed up to a bound over all connections of an address", async () => {
    await using edges = await startEdges({ clock: { now: Date.now, monotonic: () => 0 } });
    const { hostname, port } = new URL(edges.url);
    const chunk = Buffer.alloc(1024 * 1024, 120);
    const wanted = 2 * swallowedBytes;
    let sent = 0;
    const connections = Array.from({ length: 4 }, async () => {
      const socket = connectTcp({ host: hostname, port: Number(port) });
      socket.on("error", () => undefined);
      socket.resume();
      const head = `POST /v2/apis.createApi HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${wanted / 4}\r\n\r\n`;
      socket.write(head);
      for (let i = 0; i < wanted / 4 / chunk.length && !socket.destroyed && socket.writable; i++) {
        const isSent = await new Promise<boolean>((resolve) => {
          const end = () => resolve(false);
          socket.once("close", end);
          socket.write(chunk, (error) => {
            socket.off("close", end);
            resolve(error == null);
          });
        });
        if (isSent) sent += chunk.length;
      }
      socket.destroy();
    });
    await Promise.all(connections);
    // What the system holds on the way comes on top.
    expect(sent).toBeLessThan(1.6 * swallowedBytes);
    await eventually(async () => expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200));
  });
});
