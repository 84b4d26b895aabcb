import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { openMongoProxy } from "../../bench/harness/mongoProxy.ts";
import type { NetworkProxy } from "../../bench/harness/proxy.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { guardStore } from "../../src/platform/storage/decorators/guardStore.ts";
import { openMongoStore } from "../../src/platform/storage/mongo/openMongoStore.ts";
import { SCHEMA_VERSION } from "../../src/platform/storage/port/baseDocument.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { eventually } from "../support/eventually.ts";
import { sampleKey } from "./contract/samples.ts";

const server = process.env.MONGODB_URL;

describe.skipIf(server === undefined)("a MongoDB server that goes down", () => {
  const direct = freshMongoUrl(server ?? "mongodb://127.0.0.1/");
  /** By way of the proxy. */
  let url: string;
  let proxy: NetworkProxy;
  let store: Store;
  const keys = () => store.collection("keys");

  beforeAll(async () => {
    ({ url, network: proxy } = await openMongoProxy(direct));
    store = openMongoStore({ url });
    await store.prepare();
  });
  afterEach(async () => {
    proxy.resume();
    await vi.waitFor(() => store.ping(), { timeout: 30_000, interval: 100 });
  });
  afterAll(async () => {
    await store.close();
    await proxy.close();
    await dropMongoDatabase(direct);
  });

  const failure = (operation: Promise<unknown>): Promise<unknown> =>
    operation.then(
      () => undefined,
      (error: unknown) => error,
    );

  test("an operation on a connection that breaks is unavailable; of a write the outcome is unknown", async () => {
    const beforehand = sampleKey();
    await keys().insertOne(beforehand);
    proxy.cut();
    const [read, write] = await Promise.all([failure(keys().findOne({})), failure(keys().insertOne(sampleKey()))]);
    expect(read).toBeInstanceOf(StoreUnavailableError);
    expect(read).toMatchObject({ outcomeUnknown: false });
    expect(write).toBeInstanceOf(StoreUnavailableError);
    expect(write).toMatchObject({ outcomeUnknown: true });
    expect(await failure(store.ping())).toBeInstanceOf(StoreUnavailableError);
    expect(await failure(keys().insertMany([sampleKey()]))).toBeInstanceOf(StoreUnavailableError);
    expect(await failure(keys().bulkWrite([{ insertOne: { document: sampleKey() } }]))).toBeInstanceOf(StoreUnavailableError);

    proxy.resume();
    await vi.waitFor(async () => expect(await keys().findOne({ _id: beforehand._id })).toEqual(beforehand), { timeout: 30_000 });
  });

  test("an operation whose answer never comes is unavailable in the end", async () => {
    proxy.hang();
    const write = await failure(keys().insertOne(sampleKey()));
    expect(write).toBeInstanceOf(StoreUnavailableError);
    expect(write).toMatchObject({ outcomeUnknown: true });
  });

  test("behind the guard a server that hangs is noticed, and so is its return", async () => {
    const guarded = guardStore(store, { clock: systemClock, operationTimeout: 200, pingTimeout: 100, pingInterval: 20 });
    const guardedKeys = guarded.collection("keys");
    proxy.hang();
    expect(await failure(guardedKeys.findOne({}))).toBeInstanceOf(StoreUnavailableError);
    expect(guarded.state()).toBe("away");
    expect(await failure(guardedKeys.insertOne(sampleKey()))).toMatchObject({ message: "the store is away", outcomeUnknown: false });
    proxy.resume();
    await vi.waitFor(() => expect(guarded.state()).toBe("up"), { timeout: 30_000 });
    await guardedKeys.insertOne(sampleKey());
  });

  test("a driver that waits forever for an answer is connected again, even when that does not succeed at once", async () => {
    // By this clock a question that waits for a second has waited for far longer than the driver's time-outs.
    const clock = { now: systemClock.now, monotonic: () => systemClock.monotonic() * 20 };
    const told: string[] = [];
    const tell = (_: object, message: string) => void told.push(message);
    const log = { info: tell, warn: tell };
    const stuck = openMongoStore({ url, clock, log });
    await stuck.prepare();
    const { database, server: version, schema } = stuck.facts?.() ?? {};
    expect({ database, version, schema }).toEqual({
      ...{ database: new URL(url).pathname.slice(1), version: expect.stringMatching(/^\d+\./), schema: SCHEMA_VERSION },
    });
    const key = sampleKey();
    await stuck.collection("keys").insertOne(key);
    proxy.hang();
    const isTold = async (): Promise<boolean> => {
      expect(await failure(stuck.ping())).toBeInstanceOf(StoreUnavailableError);
      return told.some((message) => message.includes("connected anew"));
    };
    await expect.poll(isTold).toBe(true);
    expect(await failure(stuck.ping())).toBeInstanceOf(StoreUnavailableError);
    proxy.resume();
    await eventually(() => stuck.ping());
    expect(told).toContain("the MongoDB driver is connected again");
    expect(await stuck.collection("keys").findOne({ _id: key._id })).toEqual(key);
    await stuck.close();
  });

  test("a server that cannot be reached fails the preparation", async () => {
    proxy.cut();
    const late = openMongoStore({ url: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true` });
    expect(await failure(late.prepare())).toBeInstanceOf(StoreUnavailableError);
    await late.close();
  });
});
