// @same-on-every-engine
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/platform/base/clock.ts";
import type { CircuitState } from "../../src/platform/storage/decorators/circuit.ts";
import { type GuardedStore, guardStore } from "../../src/platform/storage/decorators/guardStore.ts";
import { DuplicateKeyError, StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { eventually } from "../support/eventually.ts";
import { type FaultyStore, faultyStore } from "../support/faultyStore.ts";
import { engines } from "../support/stores.ts";
import { sampleKey } from "./contract/samples.ts";

const embedded = engines.filter(({ name }) => name === "embedded");

describe.each(embedded)("a guarded store ($name)", (engine) => {
  let faulty: FaultyStore;
  let guarded: GuardedStore;
  let changes: [CircuitState, { cause?: StoreUnavailableError; awayFor?: number }][];
  const keys = () => guarded.collection("keys");

  beforeEach(async () => {
    faulty = faultyStore(await engine.open());
    changes = [];
    guarded = guardStore(faulty, {
      clock: systemClock,
      operationTimeout: 200,
      pingInterval: 10,
      pingTimeout: 50,
      onStateChange: (...change) => changes.push(change),
    });
  });
  afterAll(() => engine.close());

  const failure = (operation: Promise<unknown>): Promise<unknown> =>
    operation.then(
      () => undefined,
      (error: unknown) => error,
    );
  const goAway = async (): Promise<void> => {
    faulty.behave("fails");
    await failure(keys().findOne({}));
  };
  const comeBack = async (): Promise<void> => {
    faulty.behave("well");
    await eventually(() => expect(guarded.state()).toBe("up"));
  };

  test("does what the store does", async () => {
    const key = sampleKey();
    await keys().insertOne(key);
    await keys().insertMany([sampleKey()]);
    await keys().bulkWrite([{ insertOne: { document: sampleKey() } }]);
    expect(await keys().updateOne({ _id: key._id }, { $set: { name: "a" } })).toMatchObject({ modifiedCount: 1 });
    expect(await keys().findOneAndUpdate({ _id: key._id }, { $set: { name: "b" } }, { returnDocument: "before" })).toMatchObject({
      name: "a",
    });
    expect(
      await keys()
        .find({}, { sort: { _id: 1 }, limit: 2 })
        .toArray(),
    ).toHaveLength(2);
    expect(await keys().deleteOne({ _id: key._id })).toMatchObject({ deletedCount: 1 });
    expect(await keys().deleteMany({})).toMatchObject({ deletedCount: 2 });
    await guarded.prepare();
    await guarded.ping();
    expect(guarded.engine).toBe(engine.name);
    expect(guarded.state()).toBe("up");
  });

  test("ends a find that ran out of time: its parts would run for no caller, and take turns from others", async () => {
    const seen: (AbortSignal | undefined)[] = [];
    const endless: Store = {
      ...faulty,
      collection: (name) => ({
        ...faulty.collection(name),
        find: (_filter, options) => {
          seen.push(options?.signal);
          return { toArray: () => new Promise(() => undefined) };
        },
      }),
    };
    const guardedEndless = guardStore(endless, { clock: systemClock, operationTimeout: 20, pingTimeout: 50 });
    expect(await failure(guardedEndless.collection("keys").find({}).toArray())).toBeInstanceOf(StoreUnavailableError);
    expect(seen.map((signal) => signal?.aborted)).toEqual([true]);
  });

  test("starts nothing for a signal that is aborted, and rejects with its reason", async () => {
    const reason = new Error("gone");
    const before = faulty.calls();
    expect(await failure(keys().insertOne(sampleKey(), { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(
      await failure(
        keys()
          .find({}, { signal: AbortSignal.abort(reason) })
          .toArray(),
      ),
    ).toBe(reason);
    expect(faulty.calls()).toBe(before);
    expect(guarded.state()).toBe("up");
  });

  test("is not tripped by duplicates and refusals", async () => {
    const key = sampleKey();
    await keys().insertOne(key);
    expect(await failure(keys().insertOne(key))).toBeInstanceOf(DuplicateKeyError);
    expect(await failure(keys().findOne({ $or: [] }))).toBeInstanceOf(TypeError);
    expect(guarded.state()).toBe("up");
  });

  test("gives up an operation that hangs; only a write's outcome is unknown then", async () => {
    faulty.behave("hangs");
    const [read, question, write] = await Promise.all([
      failure(keys().findOne({})),
      failure(guarded.collectionsWith("pendingMark", ["keys", "apis"])),
      failure(keys().insertOne(sampleKey())),
    ]);
    expect(question).toEqual(read);
    expect(read).toBeInstanceOf(StoreUnavailableError);
    expect(read).toMatchObject({ outcomeUnknown: false });
    expect(write).toBeInstanceOf(StoreUnavailableError);
    expect(write).toMatchObject({ outcomeUnknown: true });
    expect(guarded.state()).toBe("away");
    await comeBack();
  });

  test("a slow read does not make a store unavailable that answers a ping", async () => {
    // A ping writes: on a busy machine that takes its time.
    const patient = guardStore(faulty, { clock: systemClock, operationTimeout: 200, pingTimeout: 30_000 });
    const patientKeys = patient.collection("keys");
    faulty.behave("hangs", "reads");
    const reads = await Promise.all([failure(patientKeys.findOne({})), failure(patientKeys.find({}).toArray())]);
    for (const error of reads) expect(error).toMatchObject({ name: "StoreUnavailableError", tooSlow: true });
    expect(patient.state()).toBe("up");
    faulty.behave("well");
    expect(await patientKeys.find({}).toArray()).toEqual([]);
  });

  test("a write delayed by another one does not make a store unavailable that answers a ping", async () => {
    const stuck: Store = {
      ...faulty,
      isInProcess: false,
      collection: (name) => ({
        ...faulty.collection(name),
        insertOne: () => Promise.reject(new StoreUnavailableError("statement timeout", { outcomeUnknown: true, tooSlow: true })),
        deleteOne: () => new Promise(() => undefined),
      }),
    };
    const guardedStuck = guardStore(stuck, { clock: systemClock, operationTimeout: 50, pingTimeout: 30_000 });
    const writes = guardedStuck.collection("keys");
    const refused = await Promise.all([failure(writes.insertOne(sampleKey())), failure(writes.deleteOne({}))]);
    for (const error of refused) expect(error).toMatchObject({ name: "StoreUnavailableError", tooSlow: true, outcomeUnknown: true });
    expect(guardedStuck.state()).toBe("up");
    expect(await guardedStuck.collection("keys").find({}).toArray()).toEqual([]);
  });

  test("fails at once while the store is down: nothing is sent, so the outcome is known", async () => {
    faulty.behave("hangs");
    await failure(keys().findOne({}));
    const refused = await Promise.all([
      failure(keys().insertOne(sampleKey())),
      failure(keys().insertMany([sampleKey()])),
      failure(keys().bulkWrite([])),
      failure(keys().updateOne({}, { $set: { name: "x" } })),
      failure(keys().findOneAndUpdate({}, { $set: { name: "x" } }, { returnDocument: "after" })),
      failure(keys().deleteOne({})),
      failure(keys().deleteMany({})),
      failure(keys().findOne({})),
      failure(keys().find({}).toArray()),
      failure(guarded.collectionsWith("pendingMark", ["keys", "apis"])),
      failure(guarded.ping()),
    ]);
    for (const error of refused) expect(error).toMatchObject({ name: "StoreUnavailableError", outcomeUnknown: false });
    await comeBack();
    expect(await keys().find({}).toArray()).toEqual([]);
  });

  test("works again, by itself, once the store answers a ping", async () => {
    await goAway();
    expect(guarded.state()).toBe("away");
    await comeBack();
    await keys().insertOne(sampleKey());
    expect(await keys().find({}).toArray()).toHaveLength(1);
  });

  test("a single failure does not keep a healthy store unavailable", async () => {
    faulty.behave("fails");
    const failed = failure(keys().findOne({}));
    faulty.behave("well");
    expect(await failed).toBeInstanceOf(StoreUnavailableError);
    await eventually(() => expect(guarded.state()).toBe("up"));
  });

  test("reports each change once, with its cause and how long it lasted", async () => {
    faulty.behave("fails");
    await Promise.all([failure(keys().findOne({})), failure(keys().findOne({})), failure(keys().insertOne(sampleKey()))]);
    await comeBack();
    await goAway();
    await comeBack();
    expect(changes.map(([state]) => state)).toEqual(["away", "up", "away", "up"]);
    expect(changes[0]?.[1].cause).toBeInstanceOf(StoreUnavailableError);
    expect(changes[1]?.[1].awayFor).toBeGreaterThan(0);
  });

  test("an answer that comes too late disturbs nothing", async () => {
    faulty.behave("hangs");
    const key = sampleKey();
    expect(await failure(keys().insertOne(key))).toMatchObject({ outcomeUnknown: true });
    await comeBack();
    await eventually(async () => expect(await keys().findOne({ _id: key._id })).toEqual(key));
  });

  test("pings no more once it is closed", async () => {
    await goAway();
    await guarded.close();
    const before = faulty.calls();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(faulty.calls() - before).toBeLessThanOrEqual(1);
    expect(changes.map(([state]) => state)).toEqual(["away"]);
  });
});
