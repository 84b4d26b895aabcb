import { beforeEach, describe, expect, test } from "vitest";
import type { Degraded } from "../../src/platform/base/behalf.ts";
import type { LoadResult } from "../../src/platform/cache/cacheEntry.ts";
import { type Contact, createContact } from "../../src/platform/cache/contact.ts";
import { type Cache, createCache } from "../../src/platform/cache/createCache.ts";
import { createInvalidations, type Invalidations } from "../../src/platform/cache/invalidations.ts";
import { StoreOverloadedError } from "../../src/platform/storage/port/errors.ts";
import { createTestClock, type TestClock } from "../support/testClock.ts";
import { begin, type Load, loadedAt } from "./loads.ts";

const STALE_FOR = 30_000;

let clock: TestClock;
let invalidations: Invalidations;
let contact: Contact;
/** The running loads, in the order of their start. */
let loads: Load[];
let told: Degraded[];
let caller: { readonly degrade: (what: Degraded) => void };

const setUp = (staleFor: number): void => {
  clock = createTestClock();
  contact = createContact(staleFor);
  invalidations = createInvalidations(clock, contact);
  contact.heardAt = clock.monotonic();
  loads = [];
  // Calls of an earlier test may end in this one.
  const mine: Degraded[] = [];
  told = mine;
  caller = { degrade: (what) => mine.push(what) };
};
beforeEach(() => setUp(STALE_FOR));

const cacheOf = (): Cache<string> =>
  createCache({
    clock,
    invalidations,
    contact,
    maxBytes: 1_000_000,
    load: () => begin(loads),
  });
const loaded = (value: string, rest?: Partial<LoadResult<string>>): LoadResult<string> => loadedAt(clock, value, rest);
const remembering = async (value: string, rest: Partial<LoadResult<string>> = {}): Promise<Cache<string>> => {
  const cache = cacheOf();
  const asked = cache.get("key");
  loads.at(-1)?.resolve(loaded(value, rest));
  await asked;
  loads = [];
  return cache;
};
const ask = async (cache: Cache<string>, key = "key"): Promise<string> => (await cache.get(key, caller)).value;
const isWarm = (cache: Cache<string>): boolean => !(cache.get("key", caller) instanceof Promise);

describe("an object with an announced change", () => {
  const hear = () => invalidations.hear(["object"]);
  const changeOf = async (cache: Cache<string>, value: string): Promise<string> => {
    const asked = ask(cache);
    loads.at(-1)?.resolve(loaded(value));
    return asked;
  };

  test("is loaded again, and valid for only a second in the next 5 s: the write may follow its announcement", async () => {
    const cache = await remembering("old");
    hear();
    expect(await changeOf(cache, "old")).toBe("old");
    clock.advance(999);
    contact.heardAt = clock.monotonic();
    expect(isWarm(cache)).toBe(true);
    clock.advance(1);
    contact.heardAt = clock.monotonic();
    expect(await changeOf(cache, "new")).toBe("new");
    clock.advance(3_999);
    contact.heardAt = clock.monotonic();
    expect(await changeOf(cache, "new")).toBe("new");
    clock.advance(1_000);
    contact.heardAt = clock.monotonic();
    expect(await changeOf(cache, "newest")).toBe("newest");
    clock.advance(1_001);
    contact.heardAt = clock.monotonic();
    expect(isWarm(cache)).toBe(true);
    expect(told).toEqual([]);
  });

  test("is good for a second after its load began, also by a load that ends after the 5 s", async () => {
    const cache = await remembering("old");
    hear();
    clock.advance(4_500);
    const asked = ask(cache);
    clock.advance(1_000);
    contact.heardAt = clock.monotonic();
    loads.at(-1)?.resolve(loaded("perhaps old"));
    await asked;
    expect(isWarm(cache)).toBe(false);
  });

  test("is not reloaded in the background while it is valid for only a second", async () => {
    const cache = await remembering("old");
    hear();
    await changeOf(cache, "old");
    loads = [];
    clock.advance(500);
    expect(isWarm(cache)).toBe(true);
    expect(loads.length).toBe(0);
  });

  test("is one read a second, however often it is asked for and whatever else changes", async () => {
    const cache = await remembering("old");
    hear();
    loads = [];
    const answers: Promise<string>[] = [];
    for (let i = 0; i < 100; i++) {
      invalidations.hear([`other_${i}`]);
      answers.push(ask(cache));
    }
    expect(loads.length).toBe(1);
    loads[0]?.resolve(loaded("new"));
    expect(new Set(await Promise.all(answers))).toEqual(new Set(["new"]));
    for (let i = 0; i < 100; i++) {
      invalidations.hear([`other_${i}`]);
      clock.advance(9);
      contact.heardAt = clock.monotonic();
      expect(await ask(cache)).toBe("new");
    }
    expect(loads.length).toBe(1);
  });

  test("answers during an outage that starts within the 5 s as long as other values, and stays marked when the feed is back", async () => {
    const cache = await remembering("old");
    hear();
    await changeOf(cache, "perhaps old");
    clock.advance(3_000);
    for (const at of [Number.NEGATIVE_INFINITY, 0]) {
      contact.heardAt = Math.max(contact.heardAt, clock.monotonic() + at);
      told.length = 0;
      const asked = ask(cache);
      loads.at(-1)?.reject(new Error("away"));
      expect(await asked).toBe("perhaps old");
      expect(told).toEqual(["verification"]);
    }
  });

  test("makes what is built from it good for no longer, however good the rest is", async () => {
    const sureUntil = clock.monotonic() + 400;
    const cache = await remembering("built", { sureUntil });
    clock.advance(399);
    expect(isWarm(cache)).toBe(true);
    clock.advance(1);
    const asked = ask(cache);
    loads.at(-1)?.resolve(loaded("new"));
    expect(await asked).toBe("new");
  });

  test("is valid for a second after its read, however old the other parts of a value are", async () => {
    const cache = cacheOf();
    clock.advance(20_000);
    contact.heardAt = clock.monotonic();
    hear();
    const asked = ask(cache);
    loads[0]?.resolve(loaded("built", { sentAt: clock.monotonic() - 20_000 }));
    await asked;
    clock.advance(999);
    contact.heardAt = clock.monotonic();
    expect(isWarm(cache)).toBe(true);
    expect(told).toEqual([]);
  });

  test("is read again for who shared a load that rests on something no longer good for him", async () => {
    const cache = cacheOf();
    const first = ask(cache);
    const sureUntil = clock.monotonic() + 100;
    clock.advance(500);
    contact.heardAt = clock.monotonic();
    const others = [ask(cache), ask(cache)];
    expect(loads.length).toBe(1);
    loads[0]?.resolve(loaded("old", { sentAt: clock.monotonic() - 600, sureUntil }));
    expect(await first).toBe("old");
    await new Promise(setImmediate);
    expect(loads.length).toBe(2);
    loads[1]?.resolve(loaded("new"));
    expect(await Promise.all(others)).toEqual(["new", "new"]);
    expect(told).toEqual([]);
  });

  test("is kept at once on the node that wrote it", async () => {
    const cache = await remembering("old");
    invalidations.invalidate(["object"]);
    await changeOf(cache, "new");
    expect(isWarm(cache)).toBe(true);
  });
});

test("a load is shared for less than a second: who comes later sees what was acknowledged after it began", () => {
  const cache = cacheOf();
  void cache.get("key");
  clock.advance(999);
  void cache.get("key");
  expect(loads.length).toBe(1);
  clock.advance(1);
  void cache.get("key");
  expect(loads.length).toBe(2);
});

describe("while the feed is silent", () => {
  test("remembered values answer by themselves for less than a second, then the store is asked", async () => {
    const cache = await remembering("old");
    clock.advance(999);
    expect(isWarm(cache)).toBe(true);
    clock.advance(1);
    const asked = ask(cache);
    expect(loads.length).toBe(1);
    loads[0]?.resolve(loaded("new"));
    expect(await asked).toBe("new");
    expect(told).toEqual([]);
  });

  test("a value that was read less than a second ago needs no other read", async () => {
    const cache = await remembering("old");
    clock.advance(5_000);
    const asked = ask(cache);
    loads[0]?.resolve(loaded("new"));
    await asked;
    clock.advance(999);
    expect(isWarm(cache)).toBe(true);
    clock.advance(1);
    expect(isWarm(cache)).toBe(false);
  });

  test("remembered values answer while the store does not, and the call is marked", async () => {
    const cache = await remembering("old");
    clock.advance(1_000);
    const [failing, hanging] = [ask(cache), ask(cache)];
    expect(loads.length).toBe(1);
    loads[0]?.reject(new Error("away"));
    expect([await failing, await hanging]).toEqual(["old", "old"]);
    expect(told).toEqual(["verification", "verification"]);
    // This load never ends.
    expect(await ask(cache)).toBe("old");
    expect(told.length).toBe(3);
  });

  test("remembered values answer up to their bound after the last contact with the feed, however old they are", async () => {
    const cache = await remembering("old");
    clock.advance(29_000);
    contact.heardAt = clock.monotonic();
    clock.advance(STALE_FOR - 1);
    const last = ask(cache);
    loads[0]?.reject(new Error("away"));
    expect(await last).toBe("old");
    clock.advance(1);
    const late = ask(cache);
    loads[1]?.reject(new Error("away"));
    await expect(late).rejects.toThrow("away");
  });

  test("values that had expired at the last contact with the feed answer nothing", async () => {
    const cache = await remembering("old");
    clock.advance(30_000);
    contact.heardAt = clock.monotonic();
    const asked = ask(cache);
    loads[0]?.reject(new Error("away"));
    await expect(asked).rejects.toThrow("away");
  });

  test("that there was none is not remembered beyond its second", async () => {
    const cache = await remembering("none", { maxAge: 1_000 });
    clock.advance(1_000);
    const asked = ask(cache);
    loads[0]?.reject(new Error("away"));
    await expect(asked).rejects.toThrow("away");
  });

  test("where nothing may be answered without contact, nothing is", async () => {
    setUp(0);
    const cache = await remembering("old");
    clock.advance(999);
    expect(isWarm(cache)).toBe(true);
    clock.advance(1);
    const asked = ask(cache);
    loads[0]?.reject(new Error("away"));
    await expect(asked).rejects.toThrow("away");
    const answered = ask(cache);
    loads[1]?.resolve(loaded("new"));
    expect(await answered).toBe("new");
    expect(told).toEqual([]);
  });

  test("objects that this node has changed itself are not answered from before", async () => {
    const cache = await remembering("old");
    clock.advance(1_000);
    const asked = ask(cache);
    invalidations.invalidate(["object"]);
    loads[0]?.reject(new Error("away"));
    await expect(asked).rejects.toThrow("away");
  });

  test("a slow store is asked about fifty things at a time, and no more; the others are remembered", async () => {
    const cache = cacheOf();
    const keys = Array.from({ length: 80 }, (_, i) => `key_${i}`);
    const filling = keys.map((key) => cache.get(key));
    for (const load of loads.splice(0)) load.resolve(loaded("old"));
    await Promise.all(filling);
    clock.advance(1_000);
    const answers = keys.map((key) => ask(cache, key));
    expect(loads.length).toBe(50);
    for (const load of loads) load.resolve(loaded("new"));
    const values = await Promise.all(answers);
    expect(values.filter((value) => value === "new").length).toBe(50);
    expect(values.filter((value) => value === "old").length).toBe(30);
    expect(told.length).toBe(30);
    // There is room again.
    void ask(cache, "key_79");
    expect(loads.length).toBe(51);
  });

  test("a value built from an older one is marked, too", async () => {
    const cache = await remembering("old");
    clock.advance(1_000);
    const asked = ask(cache);
    loads[0]?.resolve(loaded("mixed", { sentAt: clock.monotonic() - 1_000 }));
    expect(await asked).toBe("mixed");
    expect(told).toEqual(["verification"]);
  });

  test("where nothing may be answered without contact, a slow store is asked about fifty things at a time, too", async () => {
    setUp(0);
    const cache = cacheOf();
    const keys = Array.from({ length: 80 }, (_, i) => `key_${i}`);
    const filling = keys.map((key) => cache.get(key));
    for (const load of loads.splice(0)) load.resolve(loaded("old"));
    await Promise.all(filling);
    // Also when they have run out: what is not asked now is not forgotten, and so not asked without bounds later.
    for (const silence of [1_000, 30_000]) {
      clock.advance(silence);
      for (let round = 0; round < 2; round++) {
        const answers = Promise.allSettled(keys.map((key) => ask(cache, key)));
        expect(loads.length).toBe(50);
        for (const load of loads.splice(0)) load.reject(new Error("away"));
        const failures = (await answers).flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
        expect(failures.length).toBe(80);
        expect(failures.filter((failure) => failure instanceof StoreOverloadedError).length).toBe(30);
      }
    }
  });

  test("once the feed is heard again, what is remembered answers as before", async () => {
    const cache = await remembering("old");
    clock.advance(20_000);
    const asked = ask(cache);
    loads[0]?.reject(new Error("away"));
    await asked;
    contact.heardAt = clock.monotonic();
    expect(isWarm(cache)).toBe(true);
    expect(told.length).toBe(1);
  });
});
