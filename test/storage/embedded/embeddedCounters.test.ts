import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { counterKey, placeOfKey } from "../../../src/features/ratelimit/counterKey.ts";
import { createCounterListRepository } from "../../../src/features/ratelimit/counterListRepository.ts";
import { ALL_LENGTHS } from "../../../src/features/ratelimit/counterWalk.ts";
import { type Clock, systemClock } from "../../../src/platform/base/clock.ts";
import type { SharedCounter } from "../../../src/platform/storage/counters/sharedCounter.ts";
import { guardStore } from "../../../src/platform/storage/decorators/guardStore.ts";
import {
  createEmbeddedCounters,
  type EmbeddedCounters,
  type EmbeddedCountersOptions,
} from "../../../src/platform/storage/embedded/counters/embeddedCounters.ts";
import { openCounterFile } from "../../../src/platform/storage/embedded/counters/openCounterFile.ts";
import { openEmbeddedStore } from "../../../src/platform/storage/embedded/openEmbeddedStore.ts";
import { createReadTurns } from "../../../src/platform/storage/embedded/sqlite/readTurns.ts";
import { StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import { chargeWindow } from "../../support/chargeWindow.ts";
import { eventually } from "../../support/eventually.ts";
import { withServerStore } from "./withServerStore.ts";

const LATER = new Date(8_000_000_000_000);
const STORE = "0123456789abcdef0123456789abcdef";

describe("counters in memory in front of a file", () => {
  let directory: string;
  let now: number;
  let images: number;
  const opened: EmbeddedCounters[] = [];
  const clock: Clock = { ...systemClock, now: () => now };

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "latchkey-counters-"));
    now = 1_000;
    images = 0;
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((counters) => counters.close()));
    await rm(directory, { recursive: true });
  });

  const fileOf = (name: string): string => join(directory, `${name}.sqlite`);
  const openFile = (file: string, options: Partial<EmbeddedCountersOptions> = {}): EmbeddedCounters => {
    const opening = openCounterFile(file, STORE, { isExpected: false });
    const isEmpty = opening.prepare("SELECT 1 FROM counters LIMIT 1").get() === undefined;
    opening.close();
    const counters = createEmbeddedCounters({ file, clock, turns: createReadTurns(), ...options });
    opened.push(counters);
    counters.start(isEmpty);
    return counters;
  };
  const open = (options: Partial<EmbeddedCountersOptions> = {}): EmbeddedCounters => openFile(fileOf("counters"), options);
  /** The counters that a crash at this moment leaves. */
  const afterCrash = async (): Promise<EmbeddedCounters> => {
    const image = fileOf(`image ${++images}`);
    for (const suffix of ["", "-wal"]) await copyFile(`${fileOf("counters")}${suffix}`, `${image}${suffix}`);
    return openFile(image);
  };
  const withFile = <T>(use: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(fileOf("counters"));
    try {
      return use(database);
    } finally {
      database.close();
    }
  };
  const inFile = (sql: string) => withFile((database) => database.prepare(sql).all());
  const change = (sql: string): void => withFile((database) => database.exec(sql));
  const breakWrites = () => change("CREATE TRIGGER broken BEFORE INSERT ON counters BEGIN SELECT RAISE(ABORT, 'the disk is gone'); END");
  const fixWrites = () => change("DROP TRIGGER broken");

  test("every acknowledged change is there after a crash", async () => {
    const counters = open();
    await chargeWindow(counters, "a", 5, 9, 1);
    await chargeWindow(counters, "a", 5, 9, 2);
    await Promise.all(Array.from({ length: 100 }, (_, i) => chargeWindow(counters, `many ${i}`, 5, 9, i)));
    await chargeWindow(counters, "a", 6, 9, 1);
    await counters.refund("a", 5, 2);
    const after = await afterCrash();
    expect(await after.read("a")).toEqual({ seq: 6, current: 1, previous: 1 });
    for (let i = 0; i < 100; i++) expect(await after.read(`many ${i}`)).toEqual({ seq: 5, current: i, previous: 0 });
    expect(await after.read("b")).toBeNull();
  });

  test("changes of one tick, and those that come while it is committed, share a commit", async () => {
    let commits = 0;
    const counters = open({ onCommit: () => commits++ });
    await Promise.all(Array.from({ length: 500 }, (_, i) => chargeWindow(counters, `a ${i % 100}`, 5, 1_000, 1)));
    expect(commits).toBe(1);
    const first = Promise.all(Array.from({ length: 100 }, (_, i) => chargeWindow(counters, `a ${i}`, 5, 1_000, 1)));
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
    const later = Promise.all(Array.from({ length: 100 }, (_, i) => chargeWindow(counters, `a ${i}`, 5, 1_000, 1)));
    await Promise.all([first, later]);
    expect(commits).toBe(3);
    expect(await counters.read("a 7")).toEqual({ seq: 5, current: 7, previous: 0 });
  });

  test("counters leave memory when there are too many, and are found in the file", async () => {
    const counters = open({ mostInMemory: 100 });
    for (let i = 0; i < 1_000; i += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, j) => chargeWindow(counters, `many ${i + j}`, 5, 9, 1)));
    }
    for (let i = 0; i < 1_000; i++) expect(await chargeWindow(counters, `many ${i}`, 5, 9, 0)).toEqual({ seq: 5, current: 1, previous: 0 });
    // Behind their back: what is in memory does not notice.
    change("UPDATE counters SET current=2");
    const counts = await Promise.all(Array.from({ length: 1_000 }, (_, i) => counters.read(`many ${i}`)));
    expect(counts.filter((counter) => counter?.current === 2).length).toBeGreaterThanOrEqual(900);
    expect(counts.filter((counter) => counter?.current === 1).length).toBeGreaterThanOrEqual(50);
  });

  test("counters that have expired leave memory and the file, others stay", async () => {
    const counters = open();
    await Promise.all(Array.from({ length: 5_000 }, (_, i) => chargeWindow(counters, `many ${i}`, 5, 9, 1, i % 2 === 0 ? 250 : undefined)));
    await counters.removeExpired();
    expect(inFile("SELECT count(*) AS n FROM counters")).toEqual([{ n: 5_000 }]);
    now = 2_000;
    await counters.removeExpired();
    expect(inFile("SELECT count(*) AS n, min(expireAt) AS earliest FROM counters")).toEqual([{ n: 2_500, earliest: LATER.getTime() }]);
    expect(await counters.read("many 0")).toBeNull();
    expect(await chargeWindow(counters, "many 0", 6, 9, 1)).toEqual({ seq: 6, current: 1, previous: 0 });
    expect(await counters.read("many 1")).toEqual({ seq: 5, current: 1, previous: 0 });
  });

  test("a change that cannot be written is undone, with those that were made of it; later ones are as if it had not been", async () => {
    const counters = open();
    await chargeWindow(counters, "a", 5, 90, 1);
    breakWrites();
    const first = chargeWindow(counters, "a", 5, 90, 10);
    const fresh = chargeWindow(counters, "b", 5, 90, 1);
    for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate);
    const later = [chargeWindow(counters, "a", 5, 90, 20), chargeWindow(counters, "a", 6, 90, 1)];
    const outcomes = await Promise.allSettled([first, fresh, ...later]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { name: "StoreUnavailableError", outcomeUnknown: true } });
    }
    expect(counters.read("a")).toEqual({ seq: 5, current: 1, previous: 0 });
    expect(counters.read("b")).toBeNull();
    fixWrites();
    expect(await chargeWindow(counters, "a", 5, 90, 2)).toEqual({ seq: 5, current: 3, previous: 0 });
    expect(await (await afterCrash()).read("a")).toEqual({ seq: 5, current: 3, previous: 0 });
  });

  test("a close during changes keeps those that were acknowledged, and refuses the rest", async () => {
    for (let round = 0; round < 30; round++) {
      const counters = open({ mostInMemory: 20 });
      const acknowledged: string[] = [];
      const work = Promise.all(
        Array.from({ length: 60 }, async (_, i) => {
          for (let turns = 0; turns < i / 3; turns++) await new Promise(setImmediate);
          const id = `round ${round} ${i}`;
          await chargeWindow(counters, id, 5, 9, 1).then(
            () => acknowledged.push(id),
            (error: unknown) => expect(error).toBeInstanceOf(StoreUnavailableError),
          );
        }),
      );
      for (let turns = 0; turns < round; turns++) await new Promise(setImmediate);
      await counters.close();
      await work;
      const after = open();
      for (const id of acknowledged) expect(await after.read(id)).toEqual({ seq: 5, current: 1, previous: 0 });
      await after.close();
    }
  });

  test("counters that change at once are right, also when there are more of them than may be in memory", async () => {
    const counters = open({ mostInMemory: 4 });
    const charge = () => Promise.all(Array.from({ length: 40 }, (_, i) => chargeWindow(counters, `many ${i % 20}`, 5, 9, 1)));
    expect((await charge()).map((counter) => counter?.current)).toEqual([...Array(20).fill(1), ...Array(20).fill(2)]);
    expect((await charge()).map((counter) => counter?.current)).toEqual([...Array(20).fill(3), ...Array(20).fill(4)]);
  });

  test("a commit that waits for the disk follows those that do not", async () => {
    const counters = open();
    expect(inFile("PRAGMA user_version")).toEqual([{ user_version: 0 }]);
    await chargeWindow(counters, "a", 5, 9, 1);
    await eventually(() => expect(inFile("PRAGMA user_version")).toEqual([{ user_version: 1 }]));
  });

  test("nothing is answered before the file is open", async () => {
    const counters = createEmbeddedCounters({ file: fileOf("counters"), clock, turns: createReadTurns() });
    expect(() => counters.read("a")).toThrow(StoreUnavailableError);
    await expect(chargeWindow(counters, "a", 5, 9, 1)).rejects.toThrow(StoreUnavailableError);
    await expect(counters.ping()).rejects.toThrow(StoreUnavailableError);
    await counters.close();
  });

  test("a pair of halves of characters in a key means the same as the text that a file can hold", async () => {
    const counters = open();
    await chargeWindow(counters, "half \ud800", 5, 9, 1);
    expect(await chargeWindow(counters, "half \ufffd", 5, 9, 1)).toEqual({ seq: 5, current: 2, previous: 0 });
  });

  test("do what the port says, whatever leaves memory and whenever a crash comes", async () => {
    const model = new Map<string, SharedCounter>();
    const MOST = 8;
    /** What the port says of counters whose windows weigh nothing at their end. */
    const chargeModel = (key: string, seq: number, amount: number): SharedCounter | null => {
      const known = model.get(key) ?? { seq, current: 0, previous: 0 };
      const rolled = known.seq < seq ? { seq, current: 0, previous: known.seq === seq - 1 ? known.current : 0 } : known;
      // A window that begins a millisecond from now is believed, with all of the one before it; a later one is set back.
      const isSetBack = known.seq > seq + 1;
      const back = isSetBack ? { seq, current: known.current + known.previous, previous: 0 } : rolled;
      const isGranted = back.current + (known.seq === seq + 1 ? known.previous : 0) + amount <= MOST;
      const charged = { ...back, current: back.current + (isGranted ? amount : 0) };
      if (isGranted || isSetBack) model.set(key, charged);
      return isGranted ? charged : null;
    };
    const refundModel = (key: string, seq: number, amount: number): void => {
      const known = model.get(key);
      if (known?.seq === seq) model.set(key, { ...known, current: Math.max(0, known.current - amount) });
      else if (known?.seq === seq + 1) model.set(key, { ...known, previous: Math.max(0, known.previous - amount) });
    };
    const step = fc.record({
      kind: fc.constantFrom("charge", "charge", "refund", "crash"),
      key: fc.constantFrom("a", "b", "c", "d", "e", "f"),
      seq: fc.integer({ min: 1, max: 3 }),
      amount: fc.integer({ min: 0, max: 4 }),
    });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        round++;
        let counters = open({ mostInMemory: 4 });
        for (const { kind, key, seq, amount } of steps) {
          const id = `${round} ${key}`;
          if (kind === "crash") {
            await counters.close();
            counters = open({ mostInMemory: 4 });
            continue;
          }
          if (kind === "charge") expect(await chargeWindow(counters, id, seq, MOST - amount, amount)).toEqual(chargeModel(id, seq, amount));
          else await Promise.all([counters.refund(id, seq, amount), refundModel(id, seq, amount)]);
          expect(await counters.read(id)).toEqual(model.get(id) ?? null);
        }
        await counters.close();
      }),
      { numRuns: 60 },
    );
  });

  test("[management §3] a list has each counter that exists throughout once, in order, with counts that it had meanwhile", async () => {
    const counters = open({ mostInMemory: 8 });
    const store = openEmbeddedStore({ directory: join(directory, "state"), clock: systemClock, mode: "tool" });
    await store.prepare();
    const list = createCounterListRepository({ ...store, counters });
    let namespace = 0;
    const step = fc.record({
      identifier: fc.nat(19),
      duration: fc.constantFrom(1_000, 20_000, 3_000),
      amount: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.array(step, { maxLength: 40 }), async (before, meanwhile) => {
        const namespaceId = `rlns_${++namespace}`;
        const counts = new Map<string, number>();
        const spend = async ({ identifier, duration, amount }: (typeof before)[number]): Promise<void> => {
          const key = counterKey(namespaceId, duration, `user_${identifier}`);
          const isNew = !counts.has(key);
          counts.set(key, (counts.get(key) ?? 0) + amount);
          if (isNew) await chargeWindow(counters, key, 5, 1_000, amount);
          else await chargeWindow(counters, key, 5, 1_000, amount);
        };
        for (const each of before) await spend(each);
        const least = new Map(counts);
        const keys: string[] = [];
        const rest = [...meanwhile];
        const walk = { run: "", prefix: "", from: undefined, wanted: 3, lengths: ALL_LENGTHS };
        for await (const { key, shared } of (await list.walk({ ...walk, namespaceId })).counters) {
          keys.push(key);
          expect(shared.current).toBeGreaterThanOrEqual(least.get(key) ?? 0);
          expect(shared.current).toBeLessThanOrEqual(counts.get(key) ?? 0);
          for (const each of rest.splice(0, 3)) await spend(each);
        }
        const places = keys.map((key) => placeOfKey(`namespace:${namespaceId}:`, key));
        const sorted = [...places].sort((a, b) =>
          a.identifier < b.identifier ? -1 : a.identifier > b.identifier ? 1 : a.duration - b.duration,
        );
        expect(places).toEqual(sorted);
        expect(new Set(keys).size).toBe(keys.length);
        expect(keys).toEqual(expect.arrayContaining([...least.keys()]));
      }),
      { numRuns: 60 },
    );
    await store.close();
  });
});

test("a read of counters that fails is noticed by the guard of the store", async () => {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-counters-"));
  const store = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
  await store.prepare();
  const inner = store.counters;
  const states: string[] = [];
  const guarded = guardStore(
    {
      ...store,
      counters: {
        ...inner,
        read: () => {
          throw new StoreUnavailableError("the file cannot be read");
        },
      },
    },
    { clock: systemClock, onStateChange: (state) => states.push(state) },
  );
  await expect(guarded.counters?.read("a")).rejects.toThrow("the file cannot be read");
  expect(states[0]).toBe("away");
  await guarded.close();
  await rm(directory, { recursive: true });
});

test("a second store next to a server counts in the same file, and fails nothing", async () => {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-counters-"));
  await withServerStore(directory, async (server) => {
    await chargeWindow(server.counters, "a", 5, 9, 1);
    const beside = openEmbeddedStore({ directory, clock: systemClock, mode: "tool" });
    await beside.prepare();
    expect(await beside.counters.read("a")).toEqual({ seq: 5, current: 1, previous: 0 });
    await chargeWindow(beside.counters, "b", 5, 9, 1);
    await chargeWindow(server.counters, "c", 5, 9, 1);
    await beside.close();
    await server.ping();
  });
  await withServerStore(directory, async ({ counters }) => {
    for (const key of ["a", "b", "c"]) expect(await counters.read(key)).toEqual({ seq: 5, current: 1, previous: 0 });
  });
  await rm(directory, { recursive: true });
});

test("counters that a restore wrote into the state file move to the file of counters with the first start", async () => {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-counters-"));
  const restoring = openEmbeddedStore({ directory, clock: systemClock, mode: "restore" });
  await restoring.prepare();
  const counter = { v: 1, workspaceId: "ws_default", seq: 5, current: 4, previous: 0 };
  await restoring.collection("counters").insertMany([
    { ...counter, _id: "a", expireAt: LATER },
    { ...counter, _id: "expired", expireAt: new Date(1) },
  ]);
  await restoring.close();
  await withServerStore(directory, async (store) => {
    expect(await chargeWindow(store.counters, "a", 5, 9, 1)).toEqual({ seq: 5, current: 5, previous: 0 });
    expect(await store.counters.read("expired")).toBeNull();
    expect(await store.collection("counters").find({}).toArray()).toEqual([]);
  });
  await withServerStore(directory, async (store) => expect(await store.counters.read("a")).toEqual({ seq: 5, current: 5, previous: 0 }));
  await rm(directory, { recursive: true });
});
