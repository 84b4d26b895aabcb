import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/domain/clock.ts";
import { counterKey, placeOfKey } from "../../src/domain/counterKey.ts";
import { createJournaledCounters } from "../../src/storage/embedded/counters/journaledCounters.ts";
import { openEmbeddedStore } from "../../src/storage/embedded/openEmbeddedStore.ts";
import type { Store } from "../../src/storage/port/store.ts";
import { createRecentKeys } from "../../src/storage/recentKeys.ts";
import { ALL_LENGTHS, createCounterListRepository } from "../../src/storage/repositories/counterListRepository.ts";
import { createTestClock } from "../support/testClock.ts";

const LATER = new Date(8_000_000_000_000);
const KEYS = "namespace:rlns_1:";

describe("keys of counters in memory", () => {
  const keyOf = (i: number): string => counterKey("rlns_1", 1_000, String((i * 7_919) % 100_003).padStart(6, "0"));

  test("are sorted in runs, those of the namespace alone, with turns of the event loop between", async () => {
    const counters = new Map<string, number>();
    for (let i = 0; i < 20_000; i++) {
      counters.set(keyOf(i), i);
      counters.set(counterKey("rlns_10", 1_000, String(i)), i);
    }
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const runs = await createRecentKeys(counters, createTestClock())(KEYS);
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(9);
    expect(runs.length).toBeLessThanOrEqual(10);
    for (const run of runs) {
      expect(run.length).toBeLessThanOrEqual(6_144);
      const identifiers = run.map((key) => placeOfKey(KEYS, key).identifier);
      expect(identifiers).toEqual([...identifiers].sort());
    }
    expect(runs.flat().sort()).toEqual(Array.from({ length: 20_000 }, (_, i) => keyOf(i)).sort());
  });

  test("are found while others come and go", async () => {
    const counters = new Map<string, number>();
    for (let i = 0; i < 20_000; i++) counters.set(keyOf(i), i);
    const sorting = createRecentKeys(counters, createTestClock())(KEYS);
    for (let i = 0; i < 20_000; i += 2) counters.delete(keyOf(i));
    for (let i = 20_000; i < 60_000; i++) counters.set(keyOf(i), i);
    const keys = new Set((await sorting).flat());
    for (let i = 1; i < 20_000; i += 2) expect(keys.has(keyOf(i))).toBe(true);
  });

  test("are sorted once for all who ask meanwhile, one namespace after the other", async () => {
    const counters = new Map([[keyOf(1), 1]]);
    const recent = createRecentKeys(counters, createTestClock());
    const [first, second, other] = [recent(KEYS), recent(KEYS), recent("namespace:rlns_2:")];
    expect(first).toBe(second);
    expect([await first, await other]).toEqual([[[keyOf(1)]], []]);
    counters.set(keyOf(2), 2);
    expect((await recent(KEYS)).flat()).toHaveLength(2);
  });
});

describe("a list of counters of which some are in memory and some in the table", () => {
  let directory: string;
  let table: Store;
  let store: Store;
  let close: () => Promise<void>;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "latchkey-counters-"));
    table = openEmbeddedStore({ directory: join(directory, "table"), clock: systemClock, mode: "tool" });
    await table.prepare();
    const rows = table.collection("counters");
    const known = new Map<string, { seq: number; current: number; previous: number; expireAt: Date }>();
    const counters = createJournaledCounters({
      directory,
      clock: systemClock,
      find: (key) => known.get(key),
      tableIsEmpty: () => known.size === 0,
      write: async (operation) => {
        if (operation.kind !== "put") throw new Error(`unexpected ${operation.kind}`);
        for (const [_id, text] of operation.documents) {
          await rows.deleteOne({ _id });
          if (text === null) {
            known.delete(_id);
            continue;
          }
          const document = { ...JSON.parse(text), expireAt: LATER };
          await rows.insertOne(document);
          known.set(_id, document);
        }
        return { matched: 0, modified: 0, upserted: 0, deleted: 0 };
      },
      mostCounters: 8,
      leastJournal: 2_000,
    });
    await counters.recover("0123456789abcdef0123456789abcdef");
    store = { ...table, counters };
    close = counters.close;
  });
  afterEach(async () => {
    await close();
    await table.close();
    await rm(directory, { recursive: true });
  });

  test("[management §3] what exists throughout comes once, in order, with counts that it had meanwhile, whatever moves where", async () => {
    const counters = store.counters;
    const list = createCounterListRepository(store);
    let namespace = 0;
    const step = fc.record({
      identifier: fc.nat(19),
      duration: fc.constantFrom(1_000, 20_000, 3_000),
      amount: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.array(step, { maxLength: 40 }), async (before, meanwhile) => {
        const namespaceId = `rlns_${++namespace}`;
        const counts = new Map<string, number>();
        const spend = async ({ identifier, duration, amount }: (typeof before)[number]): Promise<void> => {
          const key = counterKey(namespaceId, duration, `user_${identifier}`);
          const isNew = !counts.has(key);
          counts.set(key, (counts.get(key) ?? 0) + amount);
          if (isNew) await counters.open(key, 5, 1_000, amount, LATER);
          else await counters.charge(key, 5, 1_000, amount);
        };
        for (const each of before) await spend(each);
        const least = new Map(counts);
        const keys: string[] = [];
        const rest = [...meanwhile];
        const walk = { run: "", prefix: "", from: undefined, wanted: 3, lengths: ALL_LENGTHS };
        for await (const { key, shared } of (await list.walk({ ...walk, namespaceId })).counters) {
          keys.push(key);
          expect(shared.current).toBeGreaterThanOrEqual(least.get(key) ?? 0);
          expect(shared.current).toBeLessThanOrEqual(counts.get(key) ?? 0);
          for (const each of rest.splice(0, 3)) await spend(each);
        }
        const places = keys.map((key) => placeOfKey(`namespace:${namespaceId}:`, key));
        const sorted = [...places].sort((a, b) =>
          a.identifier < b.identifier ? -1 : a.identifier > b.identifier ? 1 : a.duration - b.duration,
        );
        expect(places).toEqual(sorted);
        expect(new Set(keys).size).toBe(keys.length);
        expect(keys).toEqual(expect.arrayContaining([...least.keys()]));
      }),
      { numRuns: 60 },
    );
  });
});
