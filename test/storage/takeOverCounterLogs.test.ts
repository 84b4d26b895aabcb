import { MongoClient } from "mongodb";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { openMongoStore } from "../../src/storage/mongo/openMongoStore.ts";
import type { Store } from "../../src/storage/port/store.ts";
import { chargeWindow } from "../support/chargeWindow.ts";

const server = process.env.MONGODB_URL;
const MINUTE = 60_000;
const key = (identifier: string): string => `namespace:rlns_1:${MINUTE}:${identifier}`;

describe.skipIf(server === undefined)("a store of 0.11 whose nodes counted in logs", () => {
  const url = freshMongoUrl(server ?? "mongodb://127.0.0.1/");
  const client = new MongoClient(url, { readConcernLevel: "majority", writeConcern: { w: "majority" } });
  const collection = (name: string) => client.db().collection<{ _id: string }>(name);
  const opened: Store[] = [];

  const open = async (): Promise<Store> => {
    const store = openMongoStore({ url });
    opened.push(store);
    await store.prepare();
    return store;
  };
  const thisMinute = (): number => Math.floor(Date.now() / MINUTE);
  const insertLease = (id: string, holder: string, expires = 0) =>
    collection("leases").insertOne({ _id: `counters ${id}`, holder, expires } as never);
  const insertEntry = (log: string, number: number, ...changes: (string | number | null)[]) =>
    collection("counterLog").insertOne({ _id: `e/${log}/${String(number).padStart(12, "0")}`, changes: JSON.stringify(changes) } as never);

  beforeEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
    await Promise.all((await client.db().collections()).map((each) => each.deleteMany({})));
  });
  afterAll(async () => {
    await Promise.all(opened.map((store) => store.close()));
    await client.close();
    await dropMongoDatabase(url);
  });

  test("[ratelimit §13] opens with the counts of all nodes in documents, and without the logs", async () => {
    const seq = thisMinute();
    await insertLease("kept", "logs");
    await collection("counterLog").insertOne({ _id: "m/000000000001", log: "a", joinedAt: 0 } as never);
    await insertEntry("a", 1, key("a"), seq - 1, 4, key("b"), seq, 7);
    await insertEntry("a", 2, key("a"), seq, 5, key("b"), seq, -7, key("c"), seq - 2, 3);
    await insertEntry("b", 1, key("a"), seq - 1, 2, key("a"), seq, 1, key("a"), seq - 1, -1, key("d"), seq, null);
    const { counters } = await open();
    expect(await counters.read(key("a"))).toMatchObject({ seq, current: 6, previous: 5 });
    expect(await counters.read(key("b"))).toMatchObject({ seq, current: 0, previous: 0 });
    expect(await chargeWindow(counters, key("a"), seq, 6, 1, 60_000)).toMatchObject({ current: 7 });
    expect(await client.db().listCollections({ name: "counterLog" }).toArray()).toEqual([]);
    expect(await collection("leases").countDocuments()).toBe(0);
  });

  test("[ratelimit §13] takes over more counters, and more entries, than one command holds", async () => {
    const seq = thisMinute();
    await insertLease("kept", "logs");
    const numbers = Array.from({ length: 250 }, (_, i) => i + 1);
    await Promise.all(numbers.map((number) => insertEntry("a", number, key(`id_${number}`), seq, number, key("all"), seq, 1)));
    const { counters } = await open();
    expect(await counters.read(key("all"))).toMatchObject({ current: 250 });
    const each = await Promise.all(numbers.map((number) => counters.read(key(`id_${number}`))));
    expect(each.map((counter) => counter?.current)).toEqual(numbers);
  });

  test("[ratelimit §13] keeps what was charged since when a second node takes the same logs over", async () => {
    const seq = thisMinute();
    const takeOver = async (): Promise<Store> => {
      await insertLease("kept", "logs");
      await insertEntry("a", 1, key("a"), seq, 50);
      return open();
    };
    const first = await takeOver();
    await chargeWindow(first.counters, key("a"), seq, 50, 50, 60_000);
    const second = await takeOver();
    expect(await second.counters.read(key("a"))).toMatchObject({ seq, current: 100 });
  });

  test("[ratelimit §13] is not opened while such a node runs or starts, and the error says why", async () => {
    const refusal = {
      name: "StoreUnavailableError",
      message: expect.stringContaining("nodes of an earlier version count rate limits in logs (RATELIMIT_COUNTERS=logs): stop them"),
    };
    await insertLease("kept", "logs");
    await collection("nodes").insertOne({ _id: "somebody", expireAt: new Date(Date.now() + MINUTE) } as never);
    await expect(open()).rejects.toMatchObject(refusal);
    await collection("nodes").deleteMany({});
    await insertLease("start 1", "logs", Date.now() + MINUTE);
    await expect(open()).rejects.toMatchObject(refusal);
    await collection("leases").deleteOne({ _id: "counters start 1" });
    expect((await open()).engine).toBe("mongo");
  });

  test("opens beside nodes of 0.11 that count in documents", async () => {
    await insertLease("kept", "documents");
    await insertLease("start 1", "documents", Date.now() + MINUTE);
    await collection("nodes").insertOne({ _id: "somebody", expireAt: new Date(Date.now() + MINUTE) } as never);
    expect((await open()).engine).toBe("mongo");
  });
});
