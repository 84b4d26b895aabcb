import { expect, test } from "vitest";
import { systemClock } from "../../src/platform/base/clock.ts";
import type { Collection } from "../../src/platform/storage/port/collection.ts";
import type { CollectionName, Documents } from "../../src/platform/storage/port/documents.ts";
import { DuplicateKeyError, StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { meterStore } from "../../src/platform/telemetry/meterStore.ts";

/** A store with only `ping`, `findOne` and `collectionsWith`, which all run `behave`. */
const scripted = (behave: () => Promise<void>): Store => ({
  engine: "embedded",
  clock: systemClock,
  collection: <N extends CollectionName>() =>
    ({
      findOne: async () => {
        await behave();
        return null;
      },
    }) as unknown as Collection<Documents[N]>,
  collectionsWith: async () => {
    await behave();
    return [];
  },
  counters: {} as never,
  prepare: behave,
  ping: behave,
  close: async () => undefined,
});

const record = () => {
  const seen: string[] = [];
  let failure: Error | undefined;
  let now = 0;
  const store = meterStore(
    scripted(async () => {
      now += 5;
      if (failure) throw failure;
    }),
    {
      clock: { now: () => now, monotonic: () => now },
      metrics: {
        storeOperation: (...facts) => seen.push(facts.join(" ")),
      },
    },
  );
  return {
    seen,
    store,
    fail: (error: Error | undefined) => {
      failure = error;
    },
  };
};

test("every operation is measured with its outcome", async () => {
  const { seen, store, fail } = record();
  await store.collection("keys").findOne({});
  await store.collectionsWith("pendingMark", ["keys", "apis"]);
  fail(new DuplicateKeyError("hash"));
  await expect(store.collection("keys").findOne({})).rejects.toThrow(DuplicateKeyError);
  expect(seen).toEqual(["keys findOne read ok 5", "system collectionsWith read ok 5", "keys findOne read duplicate_key 5"]);
});

test("an operation of an unavailable store is counted as unavailable", async () => {
  const { seen, store, fail } = record();
  fail(new StoreUnavailableError("gone"));
  await expect(store.ping()).rejects.toThrow();
  expect(seen).toEqual(["system ping system unavailable 5"]);
});
