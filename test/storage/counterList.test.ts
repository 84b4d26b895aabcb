import { afterAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { counterKey, counterKeysOf } from "../../src/features/ratelimit/counterKey.ts";
import { createCounterListRepository } from "../../src/features/ratelimit/counterListRepository.ts";
import { type CountersFrom, readCountersPage } from "../../src/features/ratelimit/countersPage.ts";
import { ALL_LENGTHS, type CounterWalk, type ListedCounter } from "../../src/features/ratelimit/counterWalk.ts";
import { createLimiter } from "../../src/features/ratelimit/limiter.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { chargeWindow } from "../support/chargeWindow.ts";
import { sized } from "../support/sized.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

const HOUR = 3_600_000;

const all = { run: "", prefix: "", from: undefined, wanted: 101, lengths: ALL_LENGTHS } as const;

const found = async (store: Store, walk: CounterWalk): Promise<ListedCounter[]> => {
  const counters: ListedCounter[] = [];
  for await (const counter of (await createCounterListRepository(store).walk(walk)).counters) counters.push(counter);
  return counters;
};

test("[management §3] budget that is charged while a page is read hides no counter", async () => {
  const clock = createTestClock(1_000 * HOUR);
  const listed = async (
    shared: { seq: number; current: number },
    own: { seq: number; amount: number; current: number },
    later = { ...shared, current: own.current },
  ) => {
    const counterList = {
      walk: async () => ({
        lengths: ALL_LENGTHS,
        counters: (async function* () {
          yield { key: "k", identifier: "user", duration: HOUR, shared: { ...shared, previous: 0 } };
        })(),
      }),
    };
    const readBoth = async () => ({ shared: { ...later, previous: 0 }, seq: own.seq, held: own.amount, reserved: 0 });
    const limiter = { clock, keyPrefix: () => "", held: () => own, readBoth };
    const deps = { limiter, counterList };
    const { items } = await readCountersPage(deps, { namespaceId: "rlns_1", prefix: "", from: undefined, limit: 1 }, {});
    return items.map(({ current, previous, held, used }) => ({ current, previous, held, used }));
  };
  const counts = { current: 0, previous: 0, held: 0, used: 0 };
  expect(await listed({ seq: 1_000, current: 1 }, { seq: 1_000, amount: 49, current: 50 })).toEqual([
    { ...counts, current: 50, held: 49, used: 50 },
  ]);
  expect(await listed({ seq: 999, current: 1 }, { seq: 999, amount: 7, current: 8 })).toEqual([
    { ...counts, previous: 8, held: 7, used: 8 },
  ]);
  expect(await listed({ seq: 1_000, current: 9 }, { seq: 1_000, amount: 0, current: 50 })).toEqual([{ ...counts, current: 9, used: 9 }]);
  expect(await listed({ seq: 1_000, current: 9 }, { seq: 998, amount: 5, current: 50 })).toEqual([{ ...counts, current: 9, used: 9 }]);
  expect(await listed({ seq: 1_000, current: 8 }, { seq: 1_000, amount: 8, current: 8 })).toEqual([]);
  // Another node has given back what it held.
  const given = { seq: 1_000, current: 12 };
  expect(await listed(given, { seq: 1_000, amount: 8, current: 50 }, given)).toEqual([{ ...counts, current: 12, held: 8, used: 12 }]);
});

describe.each(engines)("on $name", (engine) => {
  afterAll(() => engine.close());

  const rows = (namespaceId: string, duration: number, count: number, seq = 5) =>
    Array.from({ length: count }, (_, i) => ({
      key: counterKey(namespaceId, duration, `user_${String(i).padStart(5, "0")}`),
      seq,
      current: i + 1,
    }));
  const insert = async ({ counters }: Store, all: readonly { key: string; seq: number; current: number }[]): Promise<void> => {
    for (let at = 0; at < all.length; at += 500) {
      await Promise.all(all.slice(at, at + 500).map(({ key, seq, current }) => chargeWindow(counters, key, seq, current, current)));
    }
  };

  test("[management §3] for each length of window a page reads about as many counters as it shows, whatever else is stored", async () => {
    let read = 0;
    let reads = 0;
    const store = interceptStore(await engine.open(), async (operation, { collection, name }) => {
      const result = await operation();
      if (collection === "counters" && name === "find") {
        reads++;
        read += (result as readonly unknown[]).length;
      }
      return result;
    });
    const documents = ["rlns_0", "rlns_1", "rlns_2"].flatMap((id) => [1_000, 20_000, 3_000].flatMap((duration) => rows(id, duration, 400)));
    await insert(store, documents);
    const pageOf = async (prefix: string, from?: { identifier: string; duration: number }) => {
      [read, reads] = [0, 0];
      const page: ListedCounter[] = [];
      const { counters } = await createCounterListRepository(store).walk({ ...all, namespaceId: "rlns_1", prefix, from });
      for await (const counter of counters) {
        if (page.push(counter) === 101) break;
      }
      return page.map(({ identifier, duration }) => `${identifier} ${duration}`);
    };
    const expected = Array.from({ length: 400 }, (_, i) =>
      [1_000, 3_000, 20_000].map((duration) => `user_${String(i).padStart(5, "0")} ${duration}`),
    ).flat();
    expect(await pageOf("")).toEqual(expected.slice(0, 101));
    expect([reads, read <= 3 * 102 + 3]).toEqual([4 + 3, true]);
    expect(await pageOf("", { identifier: "user_00200", duration: 3_000 })).toEqual(expected.slice(601, 702));
    expect([reads, read <= 3 * 102 + 3]).toEqual([4 + 3, true]);
    expect(await pageOf("user_0039")).toEqual(expected.slice(3 * 390, 3 * 400));
    expect(read).toBe(3 + 30);
    expect(await pageOf("nobody")).toEqual([]);
    expect(read).toBe(3);
    expect(await pageOf("user_00399", { identifier: "user_00399", duration: 20_000 })).toEqual(["user_00399 20000"]);
  });

  test("[management §3] a namespace with counters of hundreds of lengths is listed in the same order", async () => {
    const store = await engine.open();
    const durations = Array.from({ length: 150 }, (_, i) => 1_000 + i * 7);
    for (const some of [durations.slice(0, 75), durations.slice(75)]) {
      await insert(
        store,
        some.flatMap((duration) => rows("rlns_1", duration, 12)),
      );
    }
    const places = (await found(store, { ...all, namespaceId: "rlns_1" })).map(({ identifier, duration }) => [identifier, duration]);
    expect(places).toEqual(
      Array.from({ length: 12 }, (_, i) => durations.map((duration) => [`user_${String(i).padStart(5, "0")}`, duration])).flat(),
    );
  });

  test("[management §3] a page goes through a thousand lengths of windows; where there are more, the pages show all counters, each once", async () => {
    let [reads, under, most] = [0, 0, 0];
    const inner = await engine.open();
    const store = interceptStore(inner, async (operation, { collection, name }) => {
      if (collection !== "counters" || name !== "find") return operation();
      reads++;
      most = Math.max(most, ++under);
      return operation().finally(() => under--);
    });
    const durations = Array.from({ length: sized(1_100, 3_000) }, (_, i) => HOUR + i * 7);
    const seqOf = (duration: number): number => Math.floor((1_000 * HOUR) / duration);
    const documents = durations.flatMap((duration) => rows("rlns_1", duration, duration % 10 === 0 ? 3 : 1, seqOf(duration)));
    await insert(inner, documents);
    const clock = createTestClock(1_000 * HOUR);
    const limiter = createLimiter({ clock, counters: store.counters, storeDown: "deny" });
    const deps = { clock, limiter, counterList: createCounterListRepository(store) };
    const seen: string[] = [];
    let pages = 0;
    for (let from: CountersFrom | undefined, isFirst = true; isFirst || from !== undefined; isFirst = false) {
      reads = 0;
      const { items, next } = await readCountersPage(deps, { namespaceId: "rlns_1", prefix: "", from, limit: 500 }, {});
      seen.push(...items.map(({ identifier, duration }) => `${duration} ${identifier}`));
      expect(reads).toBeLessThanOrEqual(1_300);
      from = next;
      pages++;
    }
    expect(most).toBeLessThanOrEqual(8);
    expect(pages).toBeLessThanOrEqual(Math.ceil(documents.length / 500) + 3);
    expect(seen.toSorted()).toEqual(documents.map(({ key }) => key.split(":").slice(2).join(" ")).sort());
  });

  test("[management §3] a page looks at a thousand counters; where most count no more it is short, and says that there are more", async () => {
    const store = await engine.open();
    const clock = createTestClock(1_000 * HOUR);
    await insert(store, [
      ...rows("rlns_1", HOUR, 1_500, 998),
      { key: counterKey("rlns_1", HOUR, "user_00500x"), seq: 999, current: 1 },
      { key: counterKey("rlns_1", HOUR, "user_01400x"), seq: 1_000, current: 1 },
    ]);
    const limiter = createLimiter({ clock, counters: store.counters, storeDown: "deny" });
    const deps = { clock, limiter, counterList: createCounterListRepository(store) };
    const page = async (from: CountersFrom | undefined, limit = 1) => {
      const { items, next } = await readCountersPage(deps, { namespaceId: "rlns_1", prefix: "", from, limit }, {});
      return { items: items.map(({ identifier, current, previous }) => [identifier, current, previous]), next };
    };
    const first = await page(undefined);
    expect(first).toEqual({
      items: [["user_00500x", 0, 1]],
      next: { place: { identifier: "user_00999", duration: HOUR }, lengths: ALL_LENGTHS },
    });
    expect(await page(first.next)).toEqual({ items: [["user_01400x", 1, 0]], next: undefined });
    expect((await page(undefined, 100)).next).toEqual(first.next);
  });

  test("[management §3] counters come with the counts of the moment at which they are read", async () => {
    const store = await engine.open();
    const counters = store.counters;
    const key = (i: number): string => counterKey("rlns_1", 1_000, `user_${i}`);
    for (let i = 0; i < 9; i++) await chargeWindow(counters, key(i), 5, 9, 1);
    const { counters: walk } = await createCounterListRepository(store).walk({ ...all, namespaceId: "rlns_1", wanted: 2 });
    const counts: number[] = [];
    for (let i = 0; i < 9; i++) {
      await chargeWindow(counters, key(i), 5, 9, i);
      const { value } = await walk.next();
      counts.push(value?.shared.current ?? 0);
    }
    // On MongoDB those of a page are read together; the first is among them.
    const embedded = Array.from({ length: 9 }, (_, i) => i + 1);
    if (engine.name === "embedded") expect(counts).toEqual(embedded);
    else for (const [i, count] of counts.entries()) expect([1, i + 1]).toContain(count);
    expect(await walk.next()).toEqual({ done: true, value: undefined });
  });

  test("under a test clock only the counters of its run are listed", async () => {
    const store = await engine.open();
    const counters = store.counters;
    for (const run of ["", "start:1#", "start:10#"])
      await chargeWindow(counters, `${run}${counterKey("rlns_1", 1_000, `of ${run}`)}`, 5, 9, 1);
    expect(counterKeysOf("rlns_1", "start:1#")).toBe("start:1#namespace:rlns_1:");
    for (const run of ["", "start:1#", "start:10#"]) {
      expect((await found(store, { ...all, run, namespaceId: "rlns_1" })).map(({ identifier }) => identifier)).toEqual([`of ${run}`]);
    }
  });
});
