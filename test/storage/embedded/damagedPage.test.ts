import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { type GuardedStore, guardStore } from "../../../src/platform/storage/decorators/guardStore.ts";
import { openEmbeddedStore } from "../../../src/platform/storage/embedded/openEmbeddedStore.ts";
import { executeBatch } from "../../../src/platform/storage/embedded/sqlite/executeBatch.ts";
import type { WriteOperation, WriteResult } from "../../../src/platform/storage/embedded/sqlite/messages.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { sampleKey } from "../contract/samples.ts";

const PAGE = 4096;

let directory: string;
let guarded: GuardedStore | undefined;
let states: string[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-page-"));
  states = [];
});
afterEach(async () => {
  await guarded?.close();
  await rm(directory, { recursive: true });
});

const openGuarded = async (operationTimeout = 30_000, around: (store: Store) => Store = (store) => store): Promise<GuardedStore> => {
  const store = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
  guarded = guardStore(around(store), { clock: systemClock, operationTimeout, onStateChange: (state) => states.push(state) });
  await guarded.prepare();
  return guarded;
};

/** Makes a page of the table useless that holds this document. */
const damagePageOf = async (text: string): Promise<void> => {
  const name = join(directory, "latchkey.sqlite");
  const at = (await readFile(name)).indexOf(text);
  expect(at).toBeGreaterThan(0);
  const file = await open(name, "r+");
  await file.write(Buffer.alloc(PAGE, 0xa5), 0, PAGE, at - (at % PAGE));
  await file.close();
};

const samples = () =>
  Array.from({ length: 60 }, (_, i) => sampleKey({ name: `the key of number ${i}.`, meta: `"${"x".repeat(1500)}"`, remaining: 5 }));

test("a damaged page fails reads and writes of its contents, and no others", async () => {
  const keys = samples();
  await (await openGuarded()).collection("keys").insertMany(keys);
  await guarded?.close();
  const bad = keys[30] as (typeof keys)[number];
  await damagePageOf(bad.name as string);
  const collection = (await openGuarded()).collection("keys");
  const good = keys[0] as (typeof keys)[number];
  const ofDamage = { name: "StoreDamagedError", message: expect.stringContaining(join(directory, "latchkey.sqlite")) };
  for (let i = 0; i < 20; i++) {
    await expect(collection.findOne({ _id: bad._id })).rejects.toMatchObject(ofDamage);
    expect(await collection.findOne({ _id: good._id })).toEqual(good);
  }
  const spend = (id: string) =>
    collection.findOneAndUpdate({ _id: id, remaining: { $gte: 1 } }, { $inc: { remaining: -1 } }, { returnDocument: "after" });
  // All of them share a commit.
  const outcomes = await Promise.allSettled([good._id, bad._id, good._id].map(spend));
  expect(outcomes).toMatchObject([
    { status: "fulfilled", value: { remaining: 4 } },
    { status: "rejected", reason: ofDamage },
    { status: "fulfilled", value: { remaining: 3 } },
  ]);
  expect(await collection.findOne({ _id: good._id })).toMatchObject({ remaining: 3 });
  expect(states).toEqual([]);
});

test("each operation of a batch runs three times at most, however many meet damage, and the others stay", () => {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE t (n)");
  let executed = 0;
  const operations = Array.from({ length: 40 }, (_, n) => ({ kind: "delete", collection: "keys", filter: { n }, limit: 1 }) as const);
  const execute = (operation: WriteOperation): WriteResult => {
    executed++;
    const n = operation.kind === "delete" ? Number(operation.filter.n) : 0;
    database.prepare("INSERT INTO t VALUES (?)").run(n);
    if (n % 2 === 1) throw Object.assign(new Error("malformed"), { errcode: 11 });
    return { matched: 1, modified: 0, upserted: 0, deleted: 1 };
  };
  const results = executeBatch(database, operations, execute);
  database.exec("COMMIT");
  expect(executed).toBeLessThanOrEqual(3 * operations.length);
  expect(results.map(({ failure }) => failure !== undefined)).toEqual(operations.map((_, n) => n % 2 === 1));
  expect(database.prepare("SELECT count(*) AS n, sum(n % 2) AS odd FROM t").get()).toEqual({ n: 20, odd: 0 });
  database.close();
});

test("a write that takes too long fails alone: a slow disk is not an absent store", async () => {
  let isSlow = false;
  const store = await openGuarded(2_000, (inner) => ({
    ...inner,
    collection: (name) => ({
      ...inner.collection(name),
      insertOne: (...call) => (isSlow ? new Promise(() => undefined) : inner.collection(name).insertOne(...call)),
    }),
  }));
  const [first, second] = [sampleKey(), sampleKey()];
  await store.collection("keys").insertOne(first);
  isSlow = true;
  await expect(store.collection("keys").insertOne(second)).rejects.toMatchObject({ name: "StoreUnavailableError", outcomeUnknown: true });
  expect(await store.collection("keys").findOne({ _id: first._id })).toEqual(first);
  expect(states).toEqual([]);
});

test("another process that holds the file for long fails the writes that wait for it, and nothing else", async () => {
  const store = await openGuarded();
  const key = sampleKey();
  await store.collection("keys").insertOne(key);
  const holder = new DatabaseSync(join(directory, "latchkey.sqlite"));
  holder.exec("BEGIN IMMEDIATE");
  const write = store.collection("keys").insertOne(sampleKey());
  await expect(write).rejects.toMatchObject({ name: "StoreUnavailableError", outcomeUnknown: false });
  expect(await store.collection("keys").findOne({ _id: key._id })).toEqual(key);
  holder.exec("ROLLBACK");
  holder.close();
  await store.collection("keys").insertOne(sampleKey());
  expect(states).toEqual([]);
});
