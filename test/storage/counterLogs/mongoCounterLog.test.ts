import { MongoClient } from "mongodb";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { dropMongoDatabase, freshMongoUrl } from "../../../bench/harness/mongoDatabases.ts";
import { openMongoProxy } from "../../../bench/harness/mongoProxy.ts";
import { counterKey } from "../../../src/domain/counterKey.ts";
import { createLimiter } from "../../../src/ratelimit/limiter.ts";
import type { CountersKept } from "../../../src/storage/mongo/counterLogs/agreeOnCounters.ts";
import { openMongoStore } from "../../../src/storage/mongo/openMongoStore.ts";
import type { Store } from "../../../src/storage/port/store.ts";
import { ALL_LENGTHS, createCounterListRepository } from "../../../src/storage/repositories/counterListRepository.ts";
import { eventually } from "../../support/eventually.ts";

const server = process.env.MONGODB_URL;
const MINUTE = 60_000;
const HOUR = 3_600_000;

describe.skipIf(server === undefined)("counters in logs on MongoDB", () => {
  const url = freshMongoUrl(server ?? "mongodb://127.0.0.1/");
  const plain = new MongoClient(url);
  const collections = () => plain.db().collections();
  const opened: Store[] = [];

  const openNode = async (counters: CountersKept, at = url): Promise<Store> => {
    const store = openMongoStore({ url: at, counters });
    opened.push(store);
    await store.prepare();
    return store;
  };
  const limiterOn = ({ counters, clock }: Store) => createLimiter({ clock, counters, storeDown: "deny" });
  const check = (identifier: string, limit: number, duration: number = MINUTE, cost = 1) => ({
    key: counterKey("rlns_1", duration, identifier),
    limit,
    duration,
    cost,
  });
  /** Far from the end of a minute: what is counted now is of the same window in a moment. */
  const windowBegun = ({ clock }: Store): Promise<void> => eventually(() => expect(clock.now() % MINUTE).toBeLessThan(40_000));

  beforeEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
    await Promise.all((await collections()).map((collection) => collection.deleteMany({})));
  });
  afterAll(async () => {
    await Promise.all(opened.map((store) => store.close()));
    await plain.close();
    await dropMongoDatabase(url);
  });

  test("[design §4] two nodes admit exactly the limit between them, of whatever identifier", async () => {
    const nodes = [await openNode("logs"), await openNode("logs")] as const;
    await windowBegun(nodes[0]);
    const limiters = nodes.map(limiterOn);
    const names = ["plain", "with/slash", "with:colon:60000:", "quote\"'\\", "𝒰nicode ❤", "$dollar.dot", "e/", "x".repeat(500)];
    for (const name of names) {
      const asked = limiters.flatMap((limiter) => Array.from({ length: 8 }, () => limiter.check([check(name, 5)], nodes[0].clock.now())));
      const passed = (await Promise.all(asked)).filter((decision) => decision.passed).length;
      expect({ name, passed }).toEqual({ name, passed: 5 });
    }
    expect(await plain.db().collection("counters").countDocuments()).toBe(0);
    await Promise.all(limiters.map((limiter) => limiter.stop()));
  });

  test("[ratelimit §3] first checks of a thousand identifiers at once are a handful of writes", async () => {
    const node = await openNode("logs");
    const limiter = limiterOn(node);
    const before = await plain.db().collection("counterLog").countDocuments();
    const now = node.clock.now();
    const decisions = await Promise.all(Array.from({ length: 1_000 }, (_, i) => limiter.check([check(`user_${i}`, 10)], now)));
    expect(decisions.every(({ passed }) => passed)).toBe(true);
    expect((await plain.db().collection("counterLog").countDocuments()) - before).toBeLessThan(20);
    await limiter.stop();
  });

  test("counters of windows longer than a minute stay documents", async () => {
    const node = await openNode("logs");
    const limiter = limiterOn(node);
    await limiter.check([check("long", 5, MINUTE + 1)], node.clock.now());
    expect(await plain.db().collection("counters").countDocuments()).toBe(1);
    await limiter.stop();
  });

  test("[management §3] all of them are listed, whichever node counted them and wherever they are", async () => {
    const [one, other] = [await openNode("logs"), await openNode("logs")] as const;
    await windowBegun(one);
    await limiterOn(one).check([check("a", 5)], one.clock.now());
    await limiterOn(one).check([check("c", 5, HOUR)], one.clock.now());
    await limiterOn(other).check([check("b", 5)], one.clock.now());
    const walk = { namespaceId: "rlns_1", run: "", prefix: "", from: undefined, wanted: 101, lengths: ALL_LENGTHS };
    const listed: unknown[] = [];
    for await (const { identifier, shared } of (await createCounterListRepository(other).walk(walk)).counters) {
      listed.push([identifier, shared.current]);
    }
    expect(listed).toEqual([
      ["a", 1],
      ["b", 1],
      ["c", 1],
    ]);
  });

  test("[design §4] a node that starts again knows what it and others had counted", async () => {
    const [one, other] = [await openNode("logs"), await openNode("logs")] as const;
    await windowBegun(one);
    const now = one.clock.now();
    for (let i = 0; i < 3; i++) expect((await limiterOn(one).check([check("a", 5)], now)).passed).toBe(true);
    expect((await limiterOn(other).check([check("a", 5)], now)).passed).toBe(true);
    await one.close();
    await other.close();
    const again = limiterOn(await openNode("logs"));
    const asked = await Promise.all(Array.from({ length: 3 }, () => again.check([check("a", 5)], now)));
    expect(asked.map(({ passed }) => passed)).toEqual([true, false, false]);
  });

  test("[design §4] cut off in the middle, a node grants nothing that is not counted, and goes on when the network is back", async () => {
    const steady = await openNode("logs");
    const { url: way, network: proxy } = await openMongoProxy(url);
    const shaky = await openNode("logs", way);
    await windowBegun(steady);
    const limiter = limiterOn(shaky);
    let granted = 0;
    for (let round = 0; round < 5; round++) {
      const asked = Array.from({ length: 20 }, async () => (await limiter.check([check("a", 1_000_000)], steady.clock.now())).passed);
      if (round % 2 === 1) proxy.cut();
      granted += (await Promise.all(asked)).filter(Boolean).length;
      proxy.resume();
      await eventually(async () => expect((await limiter.check([check("b", 1_000_000)], steady.clock.now())).passed).toBe(true));
    }
    const counted = await steady.counters.read(check("a", 1).key);
    expect(counted?.current).toBeGreaterThanOrEqual(granted);
    expect(granted).toBeGreaterThanOrEqual(60);
    await limiter.stop();
    await proxy.close();
  });

  describe("nodes that are told to count elsewhere", () => {
    const nodeRow = (store: Store) =>
      plain
        .db()
        .collection<{ _id: string; expireAt: Date }>("nodes")
        .insertOne({ _id: "somebody", expireAt: new Date(store.clock.now() + MINUTE) });

    test("do not start beside others, and say why", async () => {
      const one = await openNode("logs");
      await nodeRow(one);
      await expect(openNode("documents")).rejects.toThrow(/other nodes on this store count rate limits in logs: this one starts when/);
      await plain.db().collection("nodes").deleteMany({});
      // Not beside one that is about to start, either.
      await expect(openNode("documents")).rejects.toMatchObject({ name: "StoreUnavailableError" });
      expect((await openNode("logs")).engine).toBe("mongo");
    });

    test("do not start both when they start at once", async () => {
      const outcomes = await Promise.allSettled([openNode("logs"), openNode("documents")]);
      expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(1);
    });

    test("take along what was counted, there and back", async () => {
      const forgetStarts = () =>
        plain
          .db()
          .collection<{ _id: string }>("leases")
          .deleteMany({ _id: { $gte: "counters start", $lt: "counters start!" } });
      const first = await openNode("documents");
      await windowBegun(first);
      const now = first.clock.now();
      const spend = async (store: Store, times: number) => {
        const limiter = limiterOn(store);
        const asked = await Promise.all(Array.from({ length: times }, () => limiter.check([check("a", 9)], now)));
        await limiter.stop();
        await store.close();
        await forgetStarts();
        return asked.filter(({ passed }) => passed).length;
      };
      expect(await spend(first, 4)).toBe(4);
      expect(await spend(await openNode("logs"), 3)).toBe(3);
      expect(await spend(await openNode("documents"), 3)).toBe(2);
    });
  });
});
