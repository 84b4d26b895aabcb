// @same-on-every-engine
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TailCall } from "../../src/features/analytics/tail/createTail.ts";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";
import { openAnalytics, type Place, server, ways } from "./places.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const odd = "it's \\ \"odd\"\n\u0000 é😀 `x` ') OR 1=1 --";

const asked = (fields: Partial<TailCall> = {}): TailCall => ({
  ...{ kind: "verifications", filter: {}, cursor: "", waitMs: 0, limit: 500, scope: undefined, rootKeyId: "rk" },
  ...{ signal: AbortSignal.timeout(120_000), onWait: () => undefined },
  ...fields,
});

describe.each(ways)("[management §6] tail on $name", (way) => {
  let place: Place;
  const clock = createTestClock(Date.now());
  let analytics: ReturnType<typeof openAnalytics>;
  beforeAll(async () => {
    place = await way.open();
    analytics = openAnalytics(place, { commonClock: clock });
    analytics.start();
  });
  afterAll(async () => {
    await analytics.stop();
    await place.close();
  });
  const tail = (fields?: Partial<TailCall>) => analytics.tail(asked(fields));
  const event = {
    requestId: "req",
    apiId: "api_a",
    identityId: "",
    externalId: "",
    outcome: "VALID",
    tags: [],
    spentCredits: 0,
    latency: 1,
  };
  const record = (fields: object): void => analytics.recordVerification({ ...event, time: Date.now(), keyId: "key_1", ...fields });
  const keysOf = async (fields: Partial<TailCall>): Promise<unknown[]> => (await tail(fields)).events.map(({ key_id }) => key_id);

  test("no reader misses an event that arrives late with an older time", async () => {
    const start = await tail();
    record({ keyId: "now" });
    const first = await tail({ cursor: start.cursor, waitMs: 20_000 });
    expect(first.events.map(({ key_id }) => key_id)).toEqual(["now"]);
    record({ keyId: "late", time: Date.now() - 3 * HOUR });
    record({ keyId: "later", time: Date.now() - 40 * 24 * HOUR });
    expect(await keysOf({ cursor: first.cursor, waitMs: 20_000 })).toEqual(["later", "late"]);
  });

  test("filters by every name, to the letter", async () => {
    const filters: Partial<TailCall>[] = [
      ...[
        { filter: { outcome: ["DISABLED"] } },
        { filter: { apiId: ["api_b"] } },
        { filter: { keyId: [odd] } },
        { filter: { identityId: ["id"] } },
      ],
      ...[
        { filter: { externalId: [odd, "x"] } },
        { filter: { tag: ["t", odd] } },
        { filter: { tag: [""], keyId: [odd] } },
        { filter: { tag: [] } },
      ],
      ...[{ filter: { keyId: [odd], outcome: ["VALID"] } }, { scope: ["api_b"] }, { scope: [] }],
    ];
    const starts = await Promise.all(filters.map((each) => tail(each)));
    const start = await tail();
    record({ keyId: odd, apiId: "api_b", outcome: "DISABLED", identityId: "id", externalId: odd, tags: ["a", odd] });
    record({ keyId: "other", tags: ["b"] });
    expect(await keysOf({ cursor: start.cursor, waitMs: 20_000 })).toEqual([odd, "other"]);
    const found = await Promise.all(filters.map((each, i) => keysOf({ ...each, cursor: starts[i]?.cursor ?? "" })));
    expect(found).toEqual([[odd], [odd], [odd], [odd], [odd], [odd], [], [], [], [odd], []]);
  });

  test("a large backlog comes in pieces, each event once", async () => {
    const { cursor: start } = await tail();
    const tags = Array.from({ length: 20 }, (_, i) => `${i}`.repeat(200));
    for (let i = 0; i < 3_000; i++) record({ keyId: `many_${i}`, tags });
    const seen: unknown[] = [];
    let cursor = start;
    while (seen.length < 3_000) {
      const found = await tail({ cursor, waitMs: 20_000 });
      expect([found.dropped, found.events.length <= 500]).toEqual([0, true]);
      seen.push(...found.events.map(({ key_id }) => key_id));
      ({ cursor } = found);
    }
    expect(new Set(seen).size).toBe(3_000);
  });

  test("[management §8] a cursor expires when it has not caught up for ten minutes", async () => {
    const { cursor } = await tail();
    clock.advance(10 * MINUTE);
    expect((await tail({ cursor })).events).toEqual([]);
    clock.advance(1);
    await expect(tail({ cursor })).rejects.toMatchObject({ reason: "invalid_input", violations: [{ location: "body.cursor" }] });
  });

  test("at most a hundred calls wait on one node, whoever makes them", async () => {
    const leaving = new AbortController();
    const waiting = Array.from({ length: 100 }, (_, i) => tail({ waitMs: 20_000, rootKeyId: `rk_${i}`, signal: leaving.signal }));
    await expect(tail({ waitMs: 1, rootKeyId: "rk_one_more" })).rejects.toMatchObject({ reason: "tail_limit_exceeded" });
    expect((await tail()).events).toEqual([]);
    leaving.abort(new Error("gone"));
    expect((await Promise.allSettled(waiting)).map(({ status }) => status)).toEqual(Array(100).fill("rejected"));
    // Their places are free at once.
    expect((await tail({ waitMs: 1, rootKeyId: "rk_one_more" })).events).toEqual([]);
  });

  test("waiting calls are answered when the node ends, and no new call waits", async () => {
    const own = openAnalytics(place);
    own.start();
    if (place.engine === undefined) await analytics.stop();
    const waiting = own.tail(asked({ waitMs: 20_000 }));
    await sleep(3_000);
    own.endTails();
    expect((await waiting).events).toEqual([]);
    expect((await own.tail(asked({ waitMs: 20_000 }))).events).toEqual([]);
    await own.stop();
  });
});

describe.each(engines)("[management §6] tail on two nodes that share their analytics, with the state in $name", (engine) => {
  let place: Place;
  let nodes: readonly [Api, Api];
  beforeAll(async () => {
    place = await server.open();
    const env = { ...place.env, MAX_IN_FLIGHT: "4" };
    const store = await engine.open();
    nodes = [await startApi(engine, { env, store }), await startApi(engine, { env, store: await engine.openBeside(store) })];
  });
  afterAll(async () => {
    await Promise.all(nodes.map(({ close }) => close()));
    await engine.close();
    await place.close();
  });
  const call = async (node: number, procedure: string, body: object, signal?: AbortSignal): Promise<Record<string, unknown>> => {
    const { url, rootKey } = nodes[node] as Api;
    if (signal === undefined) return dataOf(await request(url, procedure, { rootKey, body }));
    const headers = { authorization: `Bearer ${rootKey}`, "content-type": "application/json" };
    await fetch(`${url}/v2/${procedure}`, { method: "POST", headers, body: JSON.stringify(body), signal });
    return {};
  };
  const tail = (node: number, body: object = {}, signal?: AbortSignal) =>
    call(node, "analytics.tail", { kind: "verifications", ...body }, signal) as Promise<{
      events: Record<string, unknown>[];
      cursor: string;
    }>;

  test("each sees the events of both, and a cursor of one is good at the other", async () => {
    const { apiId } = await call(0, "apis.createApi", { name: "tail" });
    const { key, keyId } = await call(0, "keys.createKey", { apiId });
    await expect.poll(async () => (await call(1, "keys.verifyKey", { key })).code).toBe("VALID");
    const filter = { keyId: [keyId], tag: ["0", "1"] };
    const start = await tail(0, { filter });
    for (let i = 0; i < 5; i++) for (const node of [0, 1]) await call(node, "keys.verifyKey", { key, tags: [String(node)] });
    const seen: unknown[] = [];
    let { cursor } = start;
    for (let node = 0; seen.length < 10; node = 1 - node) {
      const found = await tail(node, { filter, cursor, limit: 3, waitMs: 20_000 });
      seen.push(...found.events.map(({ tags }) => String(tags)));
      ({ cursor } = found);
    }
    expect(seen.sort()).toEqual([...Array(5).fill("0"), ...Array(5).fill("1")]);
    for (const node of [0, 1]) expect((await tail(node, { filter, cursor })).events).toEqual([]);
  });

  test("a waiting call does not count towards any in-flight limit", async () => {
    const inFlight = async () => {
      const { data } = { data: (await call(0, "nodes.listNodes", {})) as unknown as readonly { inFlight: number }[] };
      return data.map(({ inFlight }) => inFlight);
    };
    const filter = { keyId: ["nobody"] };
    const waiting = Array.from({ length: 9 }, () => tail(0, { filter, waitMs: 12_000 }));
    await sleep(7_000);
    expect(await inFlight()).toEqual([0, 0]);
    for (let i = 0; i < 20; i++) await call(0, "apis.listApis", {});
    expect((await Promise.all(waiting)).map(({ events }) => events.length)).toEqual(Array(9).fill(0));
  });

  test("a client that vanishes frees its place at once", async () => {
    const filter = { keyId: ["nobody"] };
    for (let round = 0; round < 3; round++) {
      const leaving = new AbortController();
      const waiting = Array.from({ length: 10 }, () => tail(0, { filter, waitMs: 20_000 }, leaving.signal).catch(() => "gone"));
      await sleep(1_000);
      leaving.abort();
      expect(await Promise.all(waiting)).toEqual(Array(10).fill("gone"));
      const again = async () =>
        (await request(nodes[0].url, "analytics.tail", { rootKey: nodes[0].rootKey, body: { kind: "verifications", waitMs: 1 } })).status;
      await expect.poll(again).toBe(200);
    }
  });

  test("a node that stops answers those who wait at once", async () => {
    const node = await startApi(engine, { env: place.env });
    const waiting = request(node.url, "analytics.tail", { rootKey: node.rootKey, body: { kind: "verifications", waitMs: 20_000 } });
    await sleep(2_000);
    const before = performance.now();
    await node.close();
    const answer = dataOf(await waiting);
    expect(answer).toEqual({ events: [], cursor: expect.any(String), dropped: 0 });
    // Not because the time was up.
    expect(performance.now() - before).toBeLessThan(15_000);
  });
});
