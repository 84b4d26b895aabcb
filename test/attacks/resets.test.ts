import { once } from "node:events";
import { type ClientHttp2Session, constants } from "node:http2";
import { describe, expect, test, vi } from "vitest";
import { literal, openRawHttp2, type RawConnection } from "../../bench/attacks/rawHttp2.ts";
import { ServiceError } from "../../src/platform/base/errors.ts";
import { barTime, excusedResetAge, streamResets, toleratedResets } from "../../src/platform/http/limits.ts";
import { type Edges, type EdgesOptions, startEdges } from "../rpc/support/startEdges.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, liveness, open } from "./support/sessions.ts";

/** Edges whose `/v2/apis.createApi` is never answered, at a time that stands still unless `turn` moves it. */
const startStalled = async (options: EdgesOptions = {}): Promise<Edges & { readonly turn: (milliseconds: number) => void }> => {
  let now = 0;
  const clock = { now: Date.now, monotonic: () => now };
  const edges = await startEdges({ clock, invoke: () => new Promise(() => undefined), ...options });
  return {
    ...edges,
    turn: (milliseconds) => {
      now += milliseconds;
    },
  };
};

const isOpen = (session: ClientHttp2Session): boolean => !session.closed && !session.destroyed && codeOf(session) === undefined;
const roundTrip = (session: ClientHttp2Session): Promise<unknown> =>
  new Promise((resolve) => (session.destroyed || !session.ping(resolve)) && resolve(undefined));
const answer = (session: ClientHttp2Session, times: number): Promise<unknown> =>
  Promise.all(Array.from({ length: times }, () => liveness(session)));

/** Resets calls until `times` or until the server closes the session. @param wait runs before each batch of resets */
const takeBack = async (session: ClientHttp2Session, times: number, atATime = 50, wait: () => void = () => undefined): Promise<number> => {
  let done = 0;
  while (done < times && isOpen(session)) {
    const streams = Array.from({ length: Math.min(atATime, times - done) }, () =>
      session.request({ ":method": "POST", ":path": "/v2/apis.createApi", authorization: "Bearer x" }).on("error", () => undefined),
    );
    await roundTrip(session);
    wait();
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
    await roundTrip(session);
    done += streams.length;
  }
  return done;
};

describe("streams that are taken back before they are answered", () => {
  test("are bounded over all connections of an address, which then begins no other for a while", async () => {
    await using edges = await startStalled();
    let resets = 0;
    for (let i = 0; i < 6; i++) {
      const session = await open(edges.url);
      if (isOpen(session)) resets += await takeBack(session, 150);
    }
    expect(resets).toBeGreaterThanOrEqual(streamResets);
    expect(resets).toBeLessThanOrEqual(streamResets + 2 * 50);
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
    expect(await liveness(await open(edges.url, "127.0.0.2"))).toBe(200);
    edges.turn(barTime - 1);
    expect(await liveness(await open(edges.url))).toBeUndefined();
    edges.turn(1);
    expect(await liveness(await open(edges.url))).toBe(200);
  });

  test("are paid for by answered calls: expired deadlines cost no client its connection", async () => {
    await using edges = await startStalled();
    const sessions = await Promise.all(Array.from({ length: 6 }, () => open(edges.url)));
    for (const session of sessions) {
      await answer(session, 200);
      expect(await takeBack(session, 200)).toBe(200);
      expect(await liveness(session)).toBe(200);
    }
    expect(await liveness(await open(edges.url))).toBe(200);
  });

  test("do not count where the call had been under way for long", async () => {
    await using edges = await startStalled();
    const session = await open(edges.url);
    const times = 4 * streamResets;
    expect(await takeBack(session, times, 200, () => edges.turn(excusedResetAge))).toBe(times);
    expect(await liveness(session)).toBe(200);
  });

  test("cost no connection that behaves, whatever others of its address do", async () => {
    await using edges = await startStalled();
    const behaved = await open(edges.url);
    const attacker = await open(edges.url);
    await takeBack(attacker, 2 * streamResets);
    expect(codeOf(attacker)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    await takeBack(behaved, toleratedResets);
    expect(await liveness(behaved)).toBe(200);
    await answer(behaved, 100);
    await takeBack(behaved, 100);
    expect(await liveness(behaved)).toBe(200);
    await takeBack(behaved, 100);
    expect(isOpen(behaved)).toBe(false);
  });

  const fields = (path: string, method = "GET"): Buffer =>
    Buffer.concat([literal(":method", method), literal(":scheme", "http"), literal(":authority", "x"), literal(":path", path)]);
  const call = Buffer.concat([fields("/v2/permissions.listRoles", "POST"), literal("authorization", "Bearer x")]);
  const openRaw = ({ port }: Edges): Promise<RawConnection> => openRawHttp2({ host: "127.0.0.1", port });

  /** Sends a call that is answered, and waits until it is, or never will be. */
  const hear = async (connection: RawConnection, before: readonly Buffer[] = []): Promise<void> => {
    const answers = connection.answers();
    await connection.write(Buffer.concat([...before, connection.request(fields("/v2/liveness"))]));
    const isOver = () => connection.answers() > answers || connection.askedToGo() !== undefined || connection.socket.destroyed;
    while (!isOver()) await new Promise((resolve) => setImmediate(resolve));
  };

  /** Sends requests together with their resets, in batches, until the server closes the connection. */
  const resetRapidly = async (connection: RawConnection, request: Buffer, code: number): Promise<void> => {
    for (let sent = 0; sent <= 2 * streamResets && connection.askedToGo() === undefined; sent += 100) {
      await hear(
        connection,
        Array.from({ length: 100 }, () => connection.request(request, code)),
      );
    }
  };

  test("end their connection with a GOAWAY that says why, and what is under way on it is answered", async () => {
    const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
    const authenticate = () => {
      entered.resolve();
      return gate.promise;
    };
    await using edges = await startStalled({ authenticate });
    const connection = await openRaw(edges);
    const closed = once(connection.socket, "close");
    await connection.write(connection.request(call));
    await entered.promise;
    await resetRapidly(connection, call, constants.NGHTTP2_CANCEL);
    expect(connection.askedToGo()).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    const answers = connection.answers();
    gate.reject(new ServiceError("key_not_found", "It is not known."));
    await closed;
    expect(connection.answers()).toBe(answers + 1);
  });

  test.each([
    ["CANCEL", constants.NGHTTP2_CANCEL],
    ["NO_ERROR", constants.NGHTTP2_NO_ERROR],
  ])("count with the code %s, also where an answer was ready in the same instant", async (_name, code) => {
    await using edges = await startStalled();
    const connection = await openRaw(edges);
    const closed = once(connection.socket, "close");
    await resetRapidly(connection, fields("/v2/liveness"), code);
    await closed;
    expect(connection.askedToGo()).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(await liveness(await open(edges.url))).toBeUndefined();
  });

  test("count where they come in the first bytes of their connection", async () => {
    await using edges = await startStalled();
    for (let i = 0; i < 5; i++) {
      const connection = await openRaw(edges);
      await connection.write(Buffer.concat(Array.from({ length: 200 }, () => connection.request(fields("/v2/liveness"), 8))));
      await hear(connection);
    }
    expect(await liveness(await open(edges.url))).toBeUndefined();
  });

  test("that come all at once after a stall cost no client its connection", async () => {
    await using edges = await startStalled();
    const connection = await openRaw(edges);
    for (let i = 0; i < 300; i++) await hear(connection);
    await connection.write(Buffer.concat(Array.from({ length: 2_000 }, () => connection.request(call, constants.NGHTTP2_CANCEL))));
    // One that comes in the same turn may be refused.
    await eventually(async () => {
      const answers = connection.answers();
      await connection.write(connection.request(fields("/v2/liveness")));
      await vi.waitFor(() => expect(connection.answers()).toBeGreaterThan(answers), 200);
    });
    expect(connection.askedToGo()).toBeUndefined();
    connection.socket.destroy();
  });

  test("are not what a client leaves that closes its connection", async () => {
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

  test("with an error, while they wait for their turn to begin, end nothing else", async () => {
    await using edges = await startEdges();
    const { hostname: host, port } = new URL(edges.url);
    const connections = await Promise.all(Array.from({ length: 8 }, () => openRawHttp2({ host, port: Number(port) })));
    const fields = Buffer.concat([
      literal(":method", "GET"),
      literal(":scheme", "http"),
      literal(":authority", "x"),
      literal(":path", "/v2/liveness"),
    ]);
    const RESET_BYTES = 13;
    // Far more than begin in one turn, and their resets while most of them wait.
    const requests = connections.map(({ request }) =>
      Array.from({ length: 200 }, () => request(fields, constants.NGHTTP2_ENHANCE_YOUR_CALM)),
    );
    const write = (part: (bytes: Buffer) => Buffer): Promise<unknown> =>
      Promise.all(connections.map((connection, i) => connection.write(Buffer.concat((requests[i] ?? []).map(part)))));
    await write((bytes) => bytes.subarray(0, -RESET_BYTES));
    await new Promise((resolve) => setImmediate(resolve));
    await write((bytes) => bytes.subarray(-RESET_BYTES));
    const session = await open(edges.url, "127.0.0.2");
    expect(await liveness(session)).toBe(200);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await liveness(session)).toBe(200);
  });
});
