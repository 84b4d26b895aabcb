import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { MongoClient, MongoServerError } from "mongodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { openMongoProxy } from "../../bench/harness/mongoProxy.ts";
import { simulatedDocuments } from "../../bench/limiterRuns/simulation.ts";
import { systemClock } from "../../src/domain/clock.ts";
import type { SharedCounter } from "../../src/domain/sharedCounter.ts";
import { createLimiter } from "../../src/ratelimit/limiter.ts";
import { guardStore } from "../../src/storage/decorators/guardStore.ts";
import { countersOfDocuments } from "../../src/storage/mongo/chargeDocuments.ts";
import { type CounterDocuments, counterDocuments } from "../../src/storage/mongo/counterDocuments.ts";
import { openMongoStore } from "../../src/storage/mongo/openMongoStore.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../src/storage/port/baseDocument.ts";
import { StoreUnavailableError } from "../../src/storage/port/errors.ts";
import { sized } from "../support/sized.ts";
import { createTestClock } from "../support/testClock.ts";

const server = process.env.MONGODB_URL;
const LATER = new Date(createTestClock().now());

/** One operation on the counter of a key. */
interface Step {
  readonly kind: "read" | "add" | "open" | "roll" | "refund";
  readonly seq: number;
  readonly atMost: number;
  readonly amount: number;
  readonly from: SharedCounter;
}

const take = async (counters: CounterDocuments, key: string, { kind, seq, atMost, amount, from }: Step): Promise<unknown> => {
  const counts = (counter: SharedCounter | null) => counter && { seq: counter.seq, current: counter.current, previous: counter.previous };
  if (kind === "read") return counts(await counters.read(key));
  if (kind === "add") return counts(await counters.add(key, seq, atMost, amount));
  if (kind === "open") return counts(await counters.open(key, seq, atMost, amount, LATER));
  if (kind === "roll") return counters.roll(key, from, { seq, current: amount, previous: from.current }, LATER);
  return counters.refund(key, seq, amount);
};

describe.skipIf(server === undefined)("counters on MongoDB, several of them in one turn", () => {
  const url = freshMongoUrl(server ?? "mongodb://127.0.0.1/");
  const clients: MongoClient[] = [];
  const commands: string[] = [];

  /** A node of its own, whose commands are noted. */
  const openNode = (at = url, options: object = {}): CounterDocuments => {
    const client = new MongoClient(at, { monitorCommands: true, ignoreUndefined: true, ...options });
    clients.push(client);
    client.on("commandStarted", ({ commandName }) => {
      if (commandName !== "endSessions") commands.push(commandName);
    });
    return counterDocuments(client.db().collection("counters"), (operation) => operation(), 2_500);
  };
  const plain = new MongoClient(url);
  const stored = plain.db().collection<{ _id: string; seq: number; current: number | string; previous: number }>("counters");
  const put = async (
    counters: readonly (readonly [key: string, counter: Omit<SharedCounter, "current"> & { current: number | string }])[],
  ) => {
    const fields = { v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, expireAt: LATER };
    if (counters.length > 0) await stored.insertMany(counters.map(([_id, counter]) => ({ _id, ...counter, ...fields })));
  };
  const currentOf = async (key: string) => (await stored.findOne({ _id: key }))?.current;

  let one: CounterDocuments;
  let other: CounterDocuments;
  beforeAll(() => {
    one = openNode();
    other = openNode();
  });
  beforeEach(async () => {
    await stored.deleteMany({});
    commands.length = 0;
  });
  afterAll(async () => {
    await Promise.all([...clients, plain].map((client) => client.close()));
    await dropMongoDatabase(url);
  });

  test("each is told what it would be told alone, whatever becomes of the others", async () => {
    const counter = fc.record({ seq: fc.integer({ min: 4, max: 6 }), current: fc.nat({ max: 4 }), previous: fc.nat({ max: 1 }) });
    const step = fc.record({
      kind: fc.constantFrom("read", "add", "add", "open", "open", "roll", "refund"),
      seq: fc.integer({ min: 4, max: 6 }),
      atMost: fc.nat({ max: 4 }),
      amount: fc.integer({ min: 1, max: 3 }),
      from: counter,
    });
    const turn = fc.array(fc.record({ before: fc.option(counter), step }), { minLength: 2, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(turn, async (places) => {
        await stored.deleteMany({});
        const model = simulatedDocuments({ latency: () => 0 });
        for (const [i, { before }] of places.entries()) {
          if (before === null) continue;
          await model.open(`k${i}`, before.seq, 0, 0, LATER);
          await model.roll(`k${i}`, { ...before, current: 0 }, before, LATER);
        }
        await put(places.flatMap(({ before }, i) => (before === null ? [] : [[`k${i}`, before] as const])));
        const told = await Promise.all(places.map(({ step }, i) => take(one, `k${i}`, step as Step)));
        const expected = await Promise.all(places.map(({ step }, i) => take(model, `k${i}`, step as Step)));
        expect(told).toEqual(expected);
        const left = await stored.find({}, { projection: { _id: 1, seq: 1, current: 1, previous: 1 } }).toArray();
        const modelled = places.flatMap((_, i) => (model.peek(`k${i}`) ? [{ _id: `k${i}`, ...model.peek(`k${i}`) }] : []));
        expect(left.toSorted((a, b) => (a._id < b._id ? -1 : 1))).toEqual(modelled.toSorted((a, b) => (a._id < b._id ? -1 : 1)));
      }),
      { numRuns: sized(40, 400) },
    );
  });

  test("they leave as one command, and what charges found is read by one", async () => {
    await put(["a", "b"].map((key) => [key, { seq: 5, current: 1, previous: 0 }]));
    const charged = await Promise.all([
      one.add("a", 5, 9, 1),
      one.add("b", 5, 0, 1),
      one.open("c", 5, 9, 1, LATER),
      one.roll("d", { seq: 4, current: 1, previous: 0 }, { seq: 5, current: 1, previous: 1 }, LATER),
    ]);
    expect(charged).toMatchObject([{ current: 2 }, null, { current: 1 }, false]);
    expect(commands).toEqual(["update", "find"]);
    expect(await Promise.all(["a", "b", "c", "d"].map(currentOf))).toEqual([2, 1, 1, undefined]);
  });

  test("one that comes alone is one command", async () => {
    expect(await one.open("a", 5, 9, 1, LATER)).toEqual({ seq: 5, current: 1, previous: 0 });
    expect(await one.add("a", 5, 9, 1)).toMatchObject({ seq: 5, current: 2, previous: 0 });
    expect(await one.add("a", 5, 1, 1)).toBeNull();
    expect(commands).toEqual(["update", "findAndModify", "findAndModify"]);
  });

  test("two of one counter are done one after the other, and both count", async () => {
    const opened = await Promise.all([one.open("a", 5, 0, 1, LATER), one.open("a", 5, 0, 1, LATER), one.open("b", 5, 0, 1, LATER)]);
    expect(opened.filter((counter) => counter !== null)).toHaveLength(2);
    const charged = await Promise.all([1, 2, 3].flatMap(() => [one.add("a", 5, 2, 1), one.add("b", 5, 100, 1)]));
    expect(charged.filter((counter) => counter === null)).toHaveLength(1);
    expect([await currentOf("a"), await currentOf("b")]).toEqual([3, 4]);
  });

  test("[design §4] of two nodes that make the same counters at once each is granted what is counted, and nothing else is", async () => {
    const keys = Array.from({ length: 40 }, (_, i) => `k${i}`);
    for (const atMost of [0, 1, 9]) {
      await stored.deleteMany({});
      const opened = await Promise.all([
        ...keys.map((key) => one.open(key, 5, atMost, 1, LATER)),
        ...keys.toReversed().map((key) => other.open(key, 5, atMost, 1, LATER)),
      ]);
      for (const [i, key] of keys.entries()) {
        const granted = [opened[i], opened[2 * keys.length - 1 - i]].filter((counter) => counter !== null);
        expect(granted).toHaveLength(atMost === 0 ? 1 : 2);
        expect(await currentOf(key)).toBe(granted.length);
        expect(Math.max(...granted.map((counter) => counter?.current ?? 0))).toBe(granted.length);
      }
    }
  });

  test("[design §4] nodes that charge the same counters at once are granted no more than fits, in whatever order they come", async () => {
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
    await put(keys.map((key) => [key, { seq: 5, current: 0, previous: 0 }]));
    const charge = (node: CounterDocuments, order: readonly string[]) =>
      order.map(async (key) => ({ key, after: await node.add(key, 5, 4, 1) }));
    const rounds = [1, 2, 3, 4].flatMap(() => [...charge(one, keys), ...charge(other, keys.toReversed())]);
    const granted = (await Promise.all(rounds)).filter(({ after }) => after !== null);
    for (const key of keys) {
      expect(granted.filter((each) => each.key === key)).toHaveLength(5);
      expect(await currentOf(key)).toBe(5);
    }
  });

  test("one that the server cannot do fails alone", async () => {
    await put([["broken", { seq: 5, current: "none", previous: 0 }]]);
    const [broken, opened, refunded] = await Promise.allSettled([
      one.refund("broken", 5, 1),
      one.open("a", 5, 9, 1, LATER),
      one.refund("nobody", 5, 1),
    ]);
    expect(broken).toMatchObject({ status: "rejected", reason: expect.any(MongoServerError) });
    expect(opened).toMatchObject({ status: "fulfilled", value: { current: 1 } });
    expect(refunded.status).toBe("fulfilled");
  });

  describe("through a network that breaks", () => {
    const through = async () => {
      const { url: way, network: proxy } = await openMongoProxy(url);
      const timeouts = { socketTimeoutMS: 400, serverSelectionTimeoutMS: 400, retryWrites: false };
      const node = openNode(way, timeouts);
      await node.read("none");
      return { proxy, node };
    };

    test("[design §4] of none is known what became of it when no answer comes, and nobody is granted anything", async () => {
      const { proxy, node } = await through();
      proxy.hang();
      const failed = await Promise.allSettled([
        node.open("a", 5, 9, 1, LATER),
        node.add("b", 5, 9, 1),
        node.roll("c", { seq: 4, current: 0, previous: 0 }, { seq: 5, current: 1, previous: 0 }, LATER),
        node.refund("d", 5, 1),
      ]);
      for (const each of failed) {
        const { reason } = each as PromiseRejectedResult;
        expect(reason).toBeInstanceOf(StoreUnavailableError);
        expect(reason).toMatchObject({ outcomeUnknown: true });
      }
      await proxy.close();
    });

    test("[design §4] whatever is cut off in the middle, what was granted is counted, and nothing is counted twice", async () => {
      for (const after of sized([0, 2, 4, 7], [0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20])) {
        const { proxy, node } = await through();
        const keys = Array.from({ length: 60 }, (_, i) => `${after} k${i}`);
        await put(keys.slice(30).map((key) => [key, { seq: 5, current: 0, previous: 0 }]));
        const asked = keys.map((key, i) => (i < 30 ? node.open(key, 5, 9, 1, LATER) : node.add(key, 5, 9, 1)));
        const outcomes = Promise.allSettled(asked);
        await sleep(after);
        proxy.cut();
        for (const [i, outcome] of (await outcomes).entries()) {
          const count = (await currentOf(keys[i] ?? "")) ?? 0;
          if (outcome.status === "fulfilled") expect(count).toBe(1);
          else {
            expect(outcome.reason).toMatchObject({ name: "StoreUnavailableError", outcomeUnknown: true });
            expect([0, 1]).toContain(count);
          }
        }
        await proxy.close();
      }
    });
  });

  test("[ratelimit §3] first checks of a thousand identifiers at once are fifty commands at most", async () => {
    const store = openMongoStore({ url });
    await store.prepare();
    const { counters } = guardStore(
      { ...store, counters: countersOfDocuments(one) },
      { clock: systemClock, placeTimeout: 100_000, operationTimeout: 100_000 },
    );
    const limiter = createLimiter({ clock: systemClock, counters, storeDown: "deny" });
    commands.length = 0;
    const behalf = { caller: { rootKeyId: "rk_1" } };
    const checks = Array.from({ length: 1_000 }, (_, i) => [{ key: `user_${i}`, limit: 10, duration: 2_592_000_000, cost: 1 }]);
    const decisions = await Promise.all(checks.map((check) => limiter.check(check, systemClock.now(), behalf)));
    expect(decisions.every(({ passed, results: [result] }) => passed && result?.remaining === 9)).toBe(true);
    expect(commands.length).toBeLessThanOrEqual(50);
    expect(await stored.countDocuments({ current: 1 })).toBe(1_000);
    await limiter.stop();
    await store.close();
  });
});
