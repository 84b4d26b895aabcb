import { channel } from "node:diagnostics_channel";
import { once } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { literal, openRawHttp2 } from "../../bench/attacks/rawHttp2.ts";
import { maxConcurrentStreams, openedAtOnce, openedInAMillisecond } from "../../src/rpc/http/limits.ts";
import { startEdges } from "../rpc/support/startEdges.ts";
import { liveness, open } from "./support/sessions.ts";

/** The most streams that servers of this process opened in one turn of the event loop, until it is stopped. */
const countTurns = (): (() => number) => {
  const created = channel("http2.server.stream.created");
  let inTurn = 0;
  let most = 0;
  let isOver = false;
  const count = (): void => {
    most = Math.max(most, ++inTurn);
  };
  created.subscribe(count);
  const next = (): void => {
    inTurn = 0;
    if (!isOver) setImmediate(next);
  };
  next();
  const stop = (): number => {
    isOver = true;
    created.unsubscribe(count);
    return most;
  };
  onTestFinished(() => void stop());
  return stop;
};

const createApi = (session: ClientHttp2Session): Promise<number> => {
  const stream = session.request({
    ":method": "POST",
    ":path": "/v2/apis.createApi",
    authorization: "Bearer x",
    "content-type": "application/json",
  });
  stream.on("error", () => undefined).end('{"name":"known"}');
  return once(stream.resume(), "response").then(([fields]) => Number(fields[":status"]));
};

describe("[attack B8] HTTP/2 streams that connections open at the same time", () => {
  test("are opened by strangers a bounded number in each turn of the event loop, and all are answered", async () => {
    await using edges = await startEdges();
    const sessions = await Promise.all(Array.from({ length: 20 }, () => open(edges.url)));
    const most = countTurns();
    const answers = await Promise.all(sessions.flatMap((session) => Array.from({ length: 100 }, () => liveness(session))));
    expect(answers.filter((status) => status !== 200)).toEqual([]);
    expect(most()).toBeLessThanOrEqual(openedAtOnce + maxConcurrentStreams);
  });

  test("are opened by strangers at a bounded rate in the long run, also by connections that come meanwhile", async () => {
    await using edges = await startEdges();
    const created = channel("http2.server.stream.created");
    let opened = 0;
    const count = (): void => void opened++;
    created.subscribe(count);
    onTestFinished(() => void created.unsubscribe(count));
    const since = performance.now();
    const burst = async (): Promise<(number | undefined)[]> => {
      const session = await open(edges.url);
      return Promise.all(Array.from({ length: 100 }, () => liveness(session)));
    };
    const answers = await Promise.all(Array.from({ length: 16 }, burst));
    expect(answers.flat().every((status) => status === 200)).toBe(true);
    expect(opened).toBe(1600);
    // What is late is late for each of them; what has been read already counts for all connections once.
    const most = openedAtOnce + maxConcurrentStreams + (performance.now() - since) * openedInAMillisecond;
    expect(opened).toBeLessThanOrEqual(most);
  });

  test("leave nobody unread while connections keep coming that bring streams with their first bytes", async () => {
    await using edges = await startEdges();
    const flight = Buffer.concat([
      literal(":method", "GET"),
      literal(":scheme", "http"),
      literal(":authority", "x"),
      literal(":path", "/v2/none"),
    ]);
    let isOver = false;
    let isComing = true;
    const come = async (streams: number): Promise<void> => {
      const connection = await openRawHttp2({ host: "127.0.0.1", port: edges.port }, "127.0.0.2");
      await connection.write(Buffer.concat(Array.from({ length: streams }, () => connection.request(flight))));
      setTimeout(() => connection.socket.destroy(), 500);
    };
    const coming = (async () => {
      await Promise.all([come(128), come(128)]);
      for (let i = 0; i < 5_000 && !isOver; i++) {
        void come(1);
        await sleep(4);
      }
      isComing = false;
    })();
    await sleep(300);
    for (let i = 0; i < 5; i++) expect(await liveness(await open(edges.url))).toBe(200);
    // Not only since nobody came any more.
    expect(isComing).toBe(true);
    isOver = true;
    await coming;
  });

  test("do not keep a connection from being read whose caller is known", async () => {
    await using edges = await startEdges();
    const known = await open(edges.url);
    expect(await createApi(known)).toBe(200);
    const strangers = await Promise.all(Array.from({ length: 20 }, () => open(edges.url)));
    const before: Promise<unknown>[] = strangers.flatMap((session) => Array.from({ length: 100 }, () => liveness(session)));
    let answered = 0;
    for (const call of before) void call.then(() => answered++);
    await createApi(known);
    expect(answered).toBeLessThan(before.length / 2);
    await Promise.all(before);
  });
});
