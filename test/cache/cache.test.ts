import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../src/platform/base/clock.ts";
import type { LoadResult } from "../../src/platform/cache/cacheEntry.ts";
import type { Contact } from "../../src/platform/cache/contact.ts";
import { type Cache, createCache } from "../../src/platform/cache/createCache.ts";
import { createInvalidations, type Invalidations } from "../../src/platform/cache/invalidations.ts";
import { inContact } from "../support/contact.ts";
import { createTestClock, type TestClock } from "../support/testClock.ts";
import { begin, type Load, loadedAt } from "./loads.ts";

let clock: TestClock;
let invalidations: Invalidations;
let contact: Contact;
/** The running loads, in the order of their start. */
let loads: Load[];

beforeEach(() => {
  clock = createTestClock();
  invalidations = createInvalidations(clock);
  contact = inContact();
  loads = [];
});

const cacheOf = (maxBytes = 1_000_000, isPart = false): Cache<string> =>
  createCache({
    clock,
    invalidations,
    contact,
    isPart,
    maxBytes,
    load: () => begin(loads),
  });
const loaded = (value: string, rest?: Partial<LoadResult<string>>): LoadResult<string> => loadedAt(clock, value, rest);
const settled = () => new Promise((resolve) => setImmediate(resolve));
/** The answer from memory; undefined when the cache has to load. */
const kept = (cache: Cache<string>, key = "key"): string | undefined => {
  const found = cache.get(key);
  return found instanceof Promise ? undefined : found.value;
};
const fill = async (cache: Cache<string>, value: string, rest?: Partial<LoadResult<string>>): Promise<void> => {
  const asked = cache.get("key");
  loads.at(-1)?.resolve(loaded(value, rest));
  await asked;
};

describe("loading", () => {
  test("those who ask for one value at the same time share one load", async () => {
    const cache = cacheOf();
    const [first, second] = [cache.get("key"), cache.get("key")];
    expect(loads.length).toBe(1);
    loads[0]?.resolve(loaded("a"));
    expect((await first).value).toBe("a");
    expect((await second).value).toBe("a");
    expect(kept(cache)).toBe("a");
  });

  test("all callers of a shared load get its error, and it is not remembered", async () => {
    const cache = cacheOf();
    const both = Promise.allSettled([cache.get("key"), cache.get("key")]);
    loads[0]?.reject(new Error("away"));
    expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await fill(cache, "a");
    expect(kept(cache)).toBe("a");
  });

  test("a part of something larger is read again after ten seconds, and where that fails, good for thirty", async () => {
    const cache = cacheOf(1_000_000, true);
    await fill(cache, "a");
    clock.advance(9_999);
    expect(kept(cache)).toBe("a");
    clock.advance(1);
    for (const milliseconds of [0, 19_999]) {
      clock.advance(milliseconds);
      const asked = cache.get("key");
      loads.at(-1)?.reject(new Error("away"));
      expect((await asked).value).toBe("a");
    }
    clock.advance(1);
    const asked = cache.get("key");
    loads.at(-1)?.reject(new Error("away"));
    await expect(asked).rejects.toThrow("away");
    await fill(cache, "b");
    clock.advance(10_000);
    await fill(cache, "c");
    expect(kept(cache)).toBe("c");
  });

  const load = async (cache: Cache<string>, key: string, value = key): Promise<void> => {
    const asked = cache.get(key);
    loads.at(-1)?.resolve(loaded(value));
    await asked;
  };
  /** The size of one entry like those below. */
  const entryBytes = async (): Promise<number> => {
    const cache = cacheOf();
    await load(cache, "a");
    return cache.bytes();
  };

  test("beyond its bytes the oldest value goes", async () => {
    const cache = cacheOf(2 * (await entryBytes()));
    for (const key of ["a", "b", "c"]) await load(cache, key);
    expect(cache.size()).toBe(2);
    expect(kept(cache, "b")).toBe("b");
    expect(kept(cache, "a")).toBeUndefined();
    loads.at(-1)?.resolve(loaded("a"));
  });

  test("[verify §12] used entries stay while a flood of keys that are asked for once passes through", async () => {
    const cache = cacheOf(10 * (await entryBytes()));
    await load(cache, "a");
    for (let i = 0; i < 1_000; i++) {
      await load(cache, `${i % 10}`);
      expect(kept(cache, "a")).toBe("a");
    }
    expect(cache.bytes()).toBeLessThanOrEqual(10 * (await entryBytes()));
  });

  test("[verify §12] an answer that is believed for a short time is not there after it, so asking again for what is unknown is a new question", async () => {
    const cache = cacheOf();
    expect(cache.has("key")).toBe(false);
    await fill(cache, "unknown", { maxAge: 1_000 });
    expect(cache.has("key")).toBe(true);
    clock.advance(1_000);
    expect(cache.has("key")).toBe(false);
    await fill(cache, "known");
    clock.advance(30_000);
    expect(cache.has("key")).toBe(true);
  });

  test("a cache full of used entries is searched a little at a time, and they stay", async () => {
    const count = 2_000;
    const keys = Array.from({ length: count }, (_, i) => String(i).padStart(8));
    const bytes = await (async () => {
      const cache = cacheOf();
      await load(cache, keys[0] ?? "");
      return cache.bytes();
    })();
    const cache = cacheOf(count * bytes);
    for (const key of keys) await load(cache, key);
    for (const key of keys) expect(kept(cache, key)).toBe(key);
    for (let i = 1; i <= 10; i++) {
      await load(cache, `new ${i}`.padStart(8));
      // Only spares so far, and throws nothing out.
      expect(cache.size()).toBe(count + i);
      expect(cache.bytes()).toBeLessThanOrEqual(1.01 * count * bytes);
    }
    await load(cache, "new 11".padStart(8));
    expect(cache.bytes()).toBe(count * bytes);
  });

  test("a large value evicts only as many entries as it needs, and one larger than the cache none", async () => {
    const bytes = await entryBytes();
    const cache = cacheOf(10 * bytes);
    for (const key of "abcdefghij") await load(cache, key);
    await load(cache, "x", "x".repeat(5 * bytes));
    expect(cache.size()).toBeLessThan(6);
    expect(cache.bytes()).toBeLessThanOrEqual(10 * bytes);
    const before = cache.size();
    await load(cache, "y", "y".repeat(10 * bytes));
    expect(cache.size()).toBe(before);
    expect(kept(cache, "x")).toHaveLength(5 * bytes);
  });

  test("the bytes of what was replaced or has expired are given back", async () => {
    const bytes = await entryBytes();
    const cache = cacheOf();
    for (let i = 0; i < 5; i++) {
      await load(cache, "a");
      expect(cache.bytes()).toBe(bytes);
      clock.advance(30_000);
    }
  });
});

describe("invalidation", () => {
  test("a value is void once anything that it depends on has changed, and nothing else", async () => {
    const cache = cacheOf();
    await fill(cache, "a", { dependsOn: ["key_1", "role_1"] });
    invalidations.invalidate(["role_2"]);
    expect(kept(cache)).toBe("a");
    invalidations.invalidate(["role_1"]);
    expect(kept(cache)).toBeUndefined();
    loads.at(-1)?.resolve(loaded("b"));
  });

  test("a load that began before an invalidation of what it read is answered and not kept", async () => {
    const cache = cacheOf();
    const asked = cache.get("key");
    invalidations.invalidate(["object"]);
    loads[0]?.resolve(loaded("old"));
    expect((await asked).value).toBe("old");
    expect(cache.size()).toBe(0);
  });

  test("a caller that asks after a change gets nothing of a load that began before it", async () => {
    const cache = cacheOf();
    const before = cache.get("key");
    invalidations.invalidate(["object"]);
    const after = [cache.get("key"), cache.get("key")];
    loads[0]?.resolve(loaded("old"));
    expect((await before).value).toBe("old");
    await new Promise(setImmediate);
    expect(loads.length).toBe(2);
    loads[1]?.resolve(loaded("new"));
    expect((await Promise.all(after)).map(({ value }) => value)).toEqual(["new", "new"]);
    expect(kept(cache)).toBe("new");
  });

  test("[verify §12] that something is unknown is forgotten when it is made", async () => {
    const cache = cacheOf();
    await fill(cache, "unknown", { dependsOn: ["hash:x"], maxAge: 1_000 });
    expect(kept(cache)).toBe("unknown");
    invalidations.invalidate(["hash:x"]);
    expect(kept(cache)).toBeUndefined();
    loads.at(-1)?.resolve(loaded("made"));
  });

  test("changes during a silence of the feed are remembered for a minute after it, not for the lifetime of values", () => {
    const feed = { heardAt: clock.monotonic() };
    const changes = createInvalidations(clock, feed);
    changes.invalidate(["object"]);
    clock.advance(24 * 3_600_000);
    changes.invalidate(["other"]);
    expect(changes.changedSince(["object"], 0)).toBe(true);
    const heard = (): void => {
      feed.heardAt = clock.monotonic();
      changes.invalidate(["other"]);
    };
    heard();
    clock.advance(59_999);
    heard();
    expect(changes.changedSince(["object"], 0)).toBe(true);
    clock.advance(1);
    heard();
    expect(changes.changedSince(["object"], 0)).toBe(false);
  });

  test("more changes than can be remembered make everything void", () => {
    const sequence = invalidations.sequence();
    const ids = new Array<string>(2_000_000).fill("key_1");
    invalidations.invalidate(ids);
    expect(invalidations.changedSince(["any"], sequence)).toBe(false);
    invalidations.invalidate(ids);
    expect(invalidations.changedSince(["any"], sequence)).toBe(true);
    expect(invalidations.changedSince(["any"], invalidations.sequence())).toBe(false);
  });

  test("a change is remembered for longer than any value that it voids may live", async () => {
    const sequence = invalidations.sequence();
    invalidations.invalidate(["object"]);
    for (let second = 0; second < 60; second += 5) {
      expect(invalidations.changedSince(["object"], sequence)).toBe(true);
      clock.advance(5_000);
      invalidations.invalidate(["other"]);
    }
    expect(invalidations.changedSince(["object"], invalidations.sequence())).toBe(false);
  });
});

describe("age", () => {
  test("[protocol §7] nothing is served that was read 30 seconds ago", async () => {
    const cache = cacheOf();
    await fill(cache, "a");
    clock.advance(29_999);
    expect(kept(cache)).toBe("a");
    loads.at(-1)?.reject(new Error("away"));
    await settled();
    clock.advance(1);
    expect(kept(cache)).toBeUndefined();
    loads.at(-1)?.resolve(loaded("b"));
  });

  test("age counts from when the read was sent", async () => {
    const cache = cacheOf();
    const asked = cache.get("key");
    const sentAt = clock.monotonic();
    clock.advance(10_000);
    loads[0]?.resolve(loaded("a", { sentAt }));
    await asked;
    clock.advance(19_999);
    expect(kept(cache)).toBe("a");
    loads.at(-1)?.reject(new Error("away"));
    await settled();
    clock.advance(1);
    expect(kept(cache)).toBeUndefined();
    loads.at(-1)?.resolve(loaded("b"));
  });

  test("a read that took 30 seconds is answered and not kept", async () => {
    const cache = cacheOf();
    const asked = cache.get("key");
    loads[0]?.resolve(loaded("a", { sentAt: clock.monotonic() - 30_000 }));
    expect((await asked).value).toBe("a");
    expect(cache.size()).toBe(0);
  });

  test("a value in use is reloaded in the background, once at a time, before it expires", async () => {
    const cache = cacheOf();
    await fill(cache, "a");
    clock.advance(20_000);
    expect(kept(cache)).toBe("a");
    expect(kept(cache)).toBe("a");
    expect(loads.length).toBe(2);
    loads[1]?.resolve(loaded("b"));
    await settled();
    expect(kept(cache)).toBe("b");
    clock.advance(19_000);
    expect(kept(cache)).toBe("b");
    expect(loads.length).toBe(2);
  });

  test("while the store is down a value is served until it expires, then the caller gets the error", async () => {
    const cache = cacheOf();
    await fill(cache, "a");
    clock.advance(20_000);
    for (let second = 20; second < 30; second++) {
      expect(kept(cache)).toBe("a");
      loads.at(-1)?.reject(new Error("away"));
      await settled();
      clock.advance(1_000);
    }
    const asked = cache.get("key");
    loads.at(-1)?.reject(new Error("away"));
    await expect(asked).rejects.toThrow("away");
  });

  test("[verify §12] that something is unknown is believed for its own, shorter time", async () => {
    const cache = cacheOf();
    await fill(cache, "unknown", { maxAge: 1_000 });
    clock.advance(999);
    expect(kept(cache)).toBe("unknown");
    clock.advance(1);
    expect(kept(cache)).toBeUndefined();
    loads.at(-1)?.resolve(loaded("a"));
  });
});

describe("in any interleaving", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const elapse = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

  test("[verify §12] a caller that asks after the acknowledgement of a change never gets the earlier value", async () => {
    const step = fc.record({
      at: fc.nat({ max: 300 }),
      kind: fc.constantFrom("write", "read", "read", "read"),
      key: fc.constantFrom("x", "y"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.array(fc.nat({ max: 40 }), { minLength: 1 }), async (steps, delays) => {
        let next = 0;
        const delay = () => elapse(delays[next++ % delays.length] ?? 0);
        const changes = createInvalidations(systemClock);
        const stored = new Map([
          ["x", 0],
          ["y", 0],
        ]);
        const acknowledged = new Map(stored);
        const cache = createCache<number>({
          clock: systemClock,
          invalidations: changes,
          contact: inContact(),
          maxBytes: 1_000_000,
          load: async (key) => {
            const sentAt = systemClock.monotonic();
            await delay();
            const value = stored.get(key) ?? 0;
            await delay();
            return { value, dependsOn: [key], sentAt };
          },
        });
        const stale: string[] = [];
        const running = steps.map(async ({ at, kind, key }) => {
          await elapse(at);
          if (kind === "write") {
            await delay();
            const version = (stored.get(key) ?? 0) + 1;
            stored.set(key, version);
            await delay();
            changes.invalidate([key]);
            acknowledged.set(key, Math.max(version, acknowledged.get(key) ?? 0));
          } else {
            const atLeast = acknowledged.get(key) ?? 0;
            const { value } = await cache.get(key);
            if (value < atLeast) stale.push(`${key}: ${value} after ${atLeast}`);
          }
        });
        await vi.advanceTimersByTimeAsync(2_000);
        await Promise.all(running);
        expect(stale).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
