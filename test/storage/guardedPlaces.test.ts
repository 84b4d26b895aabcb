import { expect, test, vi } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import type { Behalf } from "../../src/platform/base/behalf.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { type GuardOptions, guardStore } from "../../src/platform/storage/decorators/guardStore.ts";
import { openMongoStore } from "../../src/platform/storage/mongo/openMongoStore.ts";
import type { CollectionName } from "../../src/platform/storage/port/documents.ts";
import { StoreOverloadedError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";

const hog: Behalf = { caller: { rootKeyId: "rk_hog" } };
const other: Behalf = { caller: { rootKeyId: "rk_other" } };
const FLOOD = 200;

/** A store with two places, whose operations do nothing and end when a test ends them. */
const gatedStore = () => {
  const running: (() => void)[] = [];
  const begun: CollectionName[] = [];
  const nothing = async (): Promise<void> => undefined;
  const empty: Store = {
    engine: "mongo",
    clock: systemClock,
    places: 2,
    collection: () => ({}) as never,
    collectionsWith: async () => [],
    counters: {} as never,
    prepare: nothing,
    ping: nothing,
    close: nothing,
  };
  const store: Store = interceptStore(empty, async (_, { collection }) => {
    begun.push(collection);
    await new Promise<void>((resolve) => running.push(resolve));
    return undefined as never;
  });
  return { store, running, begun };
};

const guarded = (store: Store, options: Partial<GuardOptions> = {}) =>
  guardStore(store, { clock: systemClock, placeTimeout: 100_000, operationTimeout: 100_000, ...options });

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a flood of one caller keeps neither others nor background work waiting", async () => {
  const { store, running, begun } = gatedStore();
  const { collection } = guarded(store);
  const order: string[] = [];
  const read = async (name: "keys" | "apis" | "roles", behalf: Behalf, label: string): Promise<void> => {
    await collection(name).findOne({ _id: "none" }, behalf);
    order.push(label);
  };
  const flood = Promise.all(Array.from({ length: FLOOD }, () => read("keys", hog, "hog")));
  const others = Promise.all([read("apis", other, "other"), read("roles", {}, "background")]);
  await settled();
  // The first of the other caller has its place although nothing has ended; then all have their turns.
  expect(begun).toEqual(["keys", "apis"]);
  while (order.length < FLOOD + 2) {
    running.shift()?.();
    await settled();
  }
  await Promise.all([flood, others]);
  expect(order.indexOf("other")).toBeLessThan(4);
  expect(order.indexOf("background")).toBeLessThan(4);
});

test("a place is held until its operation has really ended, even when its caller has gone", async () => {
  const { store, running, begun } = gatedStore();
  const { collection } = guarded(store, { operationTimeout: 20 });
  const late = collection("keys").findOne({ _id: "none" }, hog);
  const next = collection("apis").findOne({ _id: "none" }, hog);
  const nextFails = expect(next).rejects.toMatchObject({ tooSlow: true });
  await expect(late).rejects.toMatchObject({ tooSlow: true });
  await settled();
  expect(begun).toEqual(["keys"]);
  running[0]?.();
  await vi.waitFor(() => expect(begun).toEqual(["keys", "apis"]));
  await nextFails;
  running[1]?.();
});

test("an operation that is aborted while it waits is never sent, and rejects at once", async () => {
  const { store, running, begun } = gatedStore();
  const { collection } = guarded(store);
  const first = collection("keys").findOne({ _id: "none" }, hog);
  const caller = new AbortController();
  const second = collection("apis").insertOne({} as never, { ...hog, signal: caller.signal });
  const reason = new Error("gone");
  caller.abort(reason);
  await expect(second).rejects.toBe(reason);
  running[0]?.();
  await first;
  await settled();
  expect(begun).toEqual(["keys"]);
});

const server = process.env.MONGODB_URL;

test.skipIf(server === undefined)("a full connection pool serves callers, counters and background work in turn", async () => {
  const url = freshMongoUrl(server ?? "");
  const engine = openMongoStore({ url: `${url}?maxPoolSize=4` });
  const store = guarded(engine);
  try {
    await store.prepare();
    const order: string[] = [];
    const read = async (name: "keys" | "counters", behalf: Behalf, label: string): Promise<void> => {
      await store.collection(name).findOne({ _id: "none" }, behalf);
      order.push(label);
    };
    const flood = Array.from({ length: 2_000 }, () => read("keys", hog, "hog"));
    const few = Array.from({ length: 5 }, () => [
      read("keys", other, "other"),
      read("keys", {}, "background"),
      read("counters", hog, "counters"),
    ]);
    const ends = Promise.allSettled(flood);
    await Promise.all(few.flat());
    // Four lines in turn: five operations of each, and a similar number of the flood's.
    expect(order.length).toBeLessThan(40);
    // The flood waits only as far as there is room, and it alone is refused.
    const refused = (await ends).flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refused.length).toBeGreaterThan(0);
    for (const reason of refused) expect(reason).toBeInstanceOf(StoreOverloadedError);
  } finally {
    await store.close();
    await dropMongoDatabase(url);
  }
});
