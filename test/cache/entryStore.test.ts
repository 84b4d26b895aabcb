import fc from "fast-check";
import { expect, test } from "vitest";
import type { CacheEntry } from "../../src/platform/cache/cacheEntry.ts";
import { createEntryStore } from "../../src/platform/cache/entryStore.ts";

const MAX_BYTES = 100;
const entryOf = (value: number, bytes: number): CacheEntry<number> => ({
  value,
  dependsOn: [],
  readAt: 0,
  sureUntil: Number.POSITIVE_INFINITY,
  expiresAt: 0,
  lasts: true,
  refreshes: true,
  checked: 0,
  referenced: false,
  bytes,
});

/** The same as a list, the oldest first. */
const createModel = () => {
  let list: { readonly key: string; readonly value: number; readonly bytes: number; referenced: boolean }[] = [];
  const bytes = () => list.reduce((sum, each) => sum + each.bytes, 0);
  return {
    use: (key: string) => {
      const found = list.find((each) => each.key === key);
      if (found) found.referenced = true;
      return found?.value;
    },
    drop: (key: string) => {
      list = list.filter((each) => each.key !== key);
    },
    keep: (key: string, value: number, size: number) => {
      list = list.filter((each) => each.key !== key);
      if (size > MAX_BYTES) return;
      list.push({ key, value, bytes: size, referenced: false });
      while (bytes() > MAX_BYTES) {
        const [oldest] = list.splice(0, 1);
        if (oldest?.referenced) list.push({ ...oldest, referenced: false });
      }
    },
    keys: () => list.map(({ key }) => key),
    bytes,
  };
};

test("[verify §12] the oldest entry that was asked for only once is evicted first, after any use, replacement and removal", () => {
  const key = fc.nat({ max: 30 }).map(String);
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ does: fc.constant("keep" as const), key, bytes: fc.constantFrom(1, 7, 10, 10, 10, 60, 101) }) },
    { weight: 4, arbitrary: fc.record({ does: fc.constant("use" as const), key }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant("drop" as const), key }) },
    // Long enough without an eviction for the hand to be lifted.
    { weight: 1, arbitrary: fc.record({ does: fc.constant("rest" as const), key }) },
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 200 }), (steps) => {
      const store = createEntryStore<number>(MAX_BYTES);
      const model = createModel();
      for (const [i, each] of steps.entries()) {
        if (each.does === "keep") {
          store.keep(each.key, entryOf(i, each.bytes));
          model.keep(each.key, i, each.bytes);
        } else if (each.does === "drop") {
          store.drop(each.key);
          model.drop(each.key);
        } else if (each.does === "use") {
          const entry = store.get(each.key);
          if (entry) entry.referenced = true;
          expect(entry?.value).toBe(model.use(each.key));
        } else {
          for (const one of [store, model]) one.drop(each.key);
          for (let n = 0; n < 1_000 && store.bytes() < MAX_BYTES; n++) {
            store.keep(each.key, entryOf(i, 1));
            model.keep(each.key, i, 1);
          }
        }
        expect(model.keys().filter((known) => store.get(known) === undefined)).toEqual([]);
        expect([store.size(), store.bytes()]).toEqual([model.keys().length, model.bytes()]);
      }
    }),
    { numRuns: 100 },
  );
});
