import { appendFile, mkdtemp, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../../src/domain/clock.ts";
import { guardStore } from "../../../src/storage/decorators/guardStore.ts";
import { type AppendLog, openAppendLog } from "../../../src/storage/embedded/counters/appendLog.ts";
import { createJournaledCounters } from "../../../src/storage/embedded/counters/journaledCounters.ts";
import type { JournaledCounters, JournaledCountersOptions } from "../../../src/storage/embedded/counters/journaledCountersOptions.ts";
import { encodeRecord, headOf, type LogRecord } from "../../../src/storage/embedded/counters/logRecords.ts";
import { openEmbeddedStore } from "../../../src/storage/embedded/openEmbeddedStore.ts";
import type { WriteOperation, WriteResult } from "../../../src/storage/embedded/sqlite/messages.ts";
import { StoreUnavailableError } from "../../../src/storage/port/errors.ts";
import type { StoreLog } from "../../../src/storage/port/storeLog.ts";

const LATER = new Date(8_000_000_000_000);
const STORE = "0123456789abcdef0123456789abcdef";
const nothing: WriteResult = { matched: 0, modified: 0, upserted: 0, deleted: 0 };

/** The table beneath the counters, in memory. */
const createTable = () => {
  const rows = new Map<string, string>();
  let isBroken = false;
  return {
    rows,
    breakDown: (broken: boolean) => {
      isBroken = broken;
    },
    options: {
      find: (key: string) => {
        const text = rows.get(key);
        if (text === undefined) return undefined;
        const { expireAt, ...counts } = JSON.parse(text) as { seq: number; current: number; previous: number; expireAt: number };
        return { ...counts, expireAt: new Date(expireAt) };
      },
      tableIsEmpty: () => rows.size === 0,
      write: async (operation: WriteOperation): Promise<WriteResult> => {
        await new Promise(setImmediate);
        if (isBroken) throw new StoreUnavailableError("the table is broken");
        if (operation.kind !== "put") throw new Error(`unexpected ${operation.kind}`);
        for (const [id, text] of operation.documents) text === null ? rows.delete(id) : rows.set(id, text);
        return nothing;
      },
    },
  };
};

describe("counters in a journal", () => {
  let directory: string;
  let now: number;
  let monotonic: number;
  let warnings: string[];
  let table: ReturnType<typeof createTable>;
  const opened: JournaledCounters[] = [];
  const clock: Clock = { ...systemClock, now: () => now, monotonic: () => monotonic };
  const log: StoreLog = { info: () => undefined, warn: (_, message) => warnings.push(message) };

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "latchkey-counters-"));
    now = 1_000;
    monotonic = 0;
    warnings = [];
    table = createTable();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((counters) => counters.close()));
    await rm(directory, { recursive: true });
  });

  const open = async (bounds: Partial<JournaledCountersOptions> = {}): Promise<JournaledCounters> => {
    const counters = createJournaledCounters({ directory, clock, log, ...table.options, ...bounds });
    opened.push(counters);
    await counters.recover(STORE);
    return counters;
  };
  /** As a crash leaves it: nothing is closed, nothing is moved. */
  const reopened = async (): Promise<JournaledCounters> => open();

  /** Logs on a disk that a test can break. */
  const createDisk = () => {
    const disk = {
      append: undefined as ((log: AppendLog, record: LogRecord) => Promise<void>) | undefined,
      clear: undefined as ((log: AppendLog) => Promise<void>) | undefined,
      openLog: (file: string, store: string): AppendLog => {
        const log = openAppendLog(file, store);
        return {
          ...log,
          append: (record) => (disk.append ? disk.append(log, record) : log.append(record)),
          clear: () => (disk.clear ? disk.clear(log) : log.clear()),
        };
      },
    };
    return disk;
  };
  const failing = async (): Promise<void> => {
    await new Promise(setImmediate);
    throw new StoreUnavailableError("the disk is gone", { outcomeUnknown: true });
  };

  const logs = (): string[] => [join(directory, "counters-a.log"), join(directory, "counters-b.log")];
  const lengths = async (): Promise<number[]> => Promise.all(logs().map(async (file) => (await stat(file)).size));
  /** The one that is written. */
  const active = async (): Promise<{ readonly file: string; readonly length: number }> => {
    const sizes = await lengths();
    const length = Math.max(...sizes);
    return { file: logs()[sizes.indexOf(length)] as string, length };
  };

  test("have every acknowledged change after a crash", async () => {
    const counters = await open();
    await counters.open("a", 5, 9, 1, LATER);
    await counters.charge("a", 5, 9, 2);
    await Promise.all(Array.from({ length: 100 }, (_, i) => counters.open(`many ${i}`, 5, 9, i, LATER)));
    await counters.roll("a", { seq: 5, current: 3, previous: 0 }, { seq: 6, current: 1, previous: 3 }, LATER);
    await counters.refund("a", 5, 2);
    const after = await reopened();
    expect(await after.read("a")).toEqual({ seq: 6, current: 1, previous: 1 });
    for (let i = 0; i < 100; i++) expect(await after.read(`many ${i}`)).toEqual({ seq: 5, current: i, previous: 0 });
    expect(await after.read("b")).toBeNull();
  });

  test("are left alone by a record that a crash cut off, wherever it was cut", async () => {
    for (const cut of [1, 15, -1]) {
      table.rows.clear();
      const counters = await open();
      await counters.open("a", 5, 9, 1, LATER);
      const { length: whole } = await active();
      await counters.charge("a", 5, 9, 1);
      const { file, length: longer } = await active();
      await truncate(file, cut < 0 ? longer + cut : whole + cut);
      expect(await (await reopened()).read("a")).toEqual({ seq: 5, current: 1, previous: 0 });
    }
  });

  test("are left alone by bytes that nobody wrote", async () => {
    const counters = await open();
    await counters.open("a", 5, 9, 4, LATER);
    await appendFile((await active()).file, Buffer.alloc(4096, 0xff));
    const after = await reopened();
    expect(await after.read("a")).toEqual({ seq: 5, current: 4, previous: 0 });
    await after.charge("a", 5, 9, 1);
    expect(await (await reopened()).read("a")).toEqual({ seq: 5, current: 5, previous: 0 });
  });

  test("stay small: a journal that has become long is begun anew with what is there", async () => {
    const counters = await open({ leastJournal: 2_000 });
    await Promise.all(["a", "b", "c"].map((key) => counters.open(key, 5, 1_000_000, 1, LATER)));
    for (let i = 0; i < 600; i++) await Promise.all(["a", "b"].map((key) => counters.charge(key, 5, 1_000_000, 1)));
    for (const length of await lengths()) expect(length).toBeLessThan(8_000);
    expect(table.rows.size).toBe(0);
    const after = await reopened();
    expect(await after.read("a")).toEqual({ seq: 5, current: 601, previous: 0 });
    expect(await after.read("c")).toEqual({ seq: 5, current: 1, previous: 0 });
  });

  test("go into the table when there are too many, and are found there", async () => {
    const counters = await open({ mostCounters: 100 });
    for (let i = 0; i < 1_000; i++) await counters.open(`many ${i}`, 5, 9, 1, LATER);
    expect(table.rows.size).toBeGreaterThan(500);
    for (let i = 0; i < 1_000; i++) expect(await counters.charge(`many ${i}`, 5, 9, 1)).toEqual({ seq: 5, current: 2, previous: 0 });
    const after = await reopened();
    for (let i = 0; i < 1_000; i++) expect(await after.read(`many ${i}`)).toEqual({ seq: 5, current: 2, previous: 0 });
  });

  test("that have expired go neither into the next journal nor into the table, and leave the table", async () => {
    const before = await open();
    for (let i = 0; i < 50; i++) await before.open(`first ${i}`, 5, 9, 1, new Date(2_000));
    await before.close();
    const counters = await open({ mostCounters: 100 });
    expect(table.rows.size).toBe(50);
    for (let i = 0; i < 50; i++) await counters.charge(`first ${i}`, 5, 9, 1);
    for (let i = 0; i < 25; i++) await counters.open(`second ${i}`, 5, 9, 1, new Date(2_000));
    now = 2_000;
    for (let i = 0; i < 50; i++) await counters.open(`third ${i}`, 6, 9, 1, LATER);
    await counters.close();
    await open();
    expect(new Set([...table.rows.keys()].map((name) => name.split(" ")[0]))).toEqual(new Set(["third"]));
    expect(table.rows.size).toBe(50);
  });

  test("a change that cannot be written is undone, with those that were made of it; later ones are as if it had not been", async () => {
    const disk = createDisk();
    const counters = await open({ openLog: disk.openLog });
    await counters.open("a", 5, 90, 1, LATER);
    disk.append = failing;
    const first = counters.charge("a", 5, 90, 10);
    const fresh = counters.open("b", 5, 90, 1, LATER);
    await new Promise(setImmediate);
    const later = [
      counters.charge("a", 5, 90, 20),
      counters.roll("a", { seq: 5, current: 31, previous: 0 }, { seq: 6, current: 1, previous: 31 }, LATER),
    ];
    const outcomes = await Promise.allSettled([first, fresh, ...later, counters.ping()]);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: "rejected", reason: { name: "StoreUnavailableError" } });
    expect(counters.read("a")).toEqual({ seq: 5, current: 1, previous: 0 });
    expect(counters.read("b")).toBeNull();
    disk.append = undefined;
    expect(await counters.charge("a", 5, 90, 2)).toEqual({ seq: 5, current: 3, previous: 0 });
    expect(await (await reopened()).read("a")).toEqual({ seq: 5, current: 3, previous: 0 });
  });

  test("a table that fails loses nothing, keeps memory within bounds, is told of once, and is asked again after a while", async () => {
    const counters = await open({ mostCounters: 50 });
    table.breakDown(true);
    const many = await Promise.allSettled(
      Array.from({ length: 400 }, async (_, i) => {
        for (let turns = 0; turns < i; turns++) await new Promise(setImmediate);
        return counters.open(`many ${i}`, 5, 9, 1, LATER);
      }),
    );
    const made = many.filter(({ status }) => status === "fulfilled").length;
    expect(made).toBeGreaterThanOrEqual(50);
    expect(made).toBeLessThanOrEqual(101);
    expect(many.find(({ status }) => status === "rejected")).toMatchObject({ reason: { name: "StoreUnavailableError" } });
    expect(warnings).toEqual(["rate limit counters could not be moved out of the journal"]);
    table.breakDown(false);
    monotonic += 5_000;
    for (let i = 0; i < 60; i++) await counters.open(`more ${i}`, 5, 9, 1, LATER);
    await counters.close();
    const after = await open();
    for (const [i, { status }] of many.entries()) {
      const expected = status === "fulfilled" ? { seq: 5, current: 1, previous: 0 } : null;
      expect(await after.read(`many ${i}`)).toEqual(expected);
    }
    for (let i = 0; i < 60; i++) expect(await after.read(`more ${i}`)).toEqual({ seq: 5, current: 1, previous: 0 });
  });

  test("a table and a journal that fail together fail calls, and nothing else", async () => {
    const disk = createDisk();
    const counters = await open({ mostCounters: 40, openLog: disk.openLog });
    const unhandled: unknown[] = [];
    const hear = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", hear);
    for (let i = 0; i < 39; i++) await counters.open(`many ${i}`, 5, 9, 1, LATER);
    table.breakDown(true);
    disk.append = failing;
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => counters.open(`more ${i}`, 5, 9, 1, LATER)));
    for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
    process.off("unhandledRejection", hear);
    expect(unhandled).toEqual([]);
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["rejected"]));
    for (let i = 0; i < 39; i++) expect(counters.read(`many ${i}`)).toEqual({ seq: 5, current: 1, previous: 0 });
  });

  test("a start that dies between the clearing of the two logs, or fails at the first, takes nothing back", async () => {
    for (const failures of [1, 2]) {
      const disk = createDisk();
      const writing = await open({ leastJournal: 500, openLog: disk.openLog });
      // The first log is never cleared, so both have records.
      disk.clear = failing;
      for (let i = 0; i < 100; i++) await writing.open(`key ${failures}`, 5, 1_000, 1, LATER);
      expect((await lengths()).every((length) => length > 2 * encodeRecord(headOf(STORE)).length)).toBe(true);
      const again = createDisk();
      let cleared = 0;
      again.clear = async (each) => (++cleared === failures ? failing() : each.clear());
      await expect(open({ openLog: again.openLog })).rejects.toThrow("the disk is gone");
      expect(await (await reopened()).read(`key ${failures}`)).toEqual({ seq: 5, current: 100, previous: 0 });
    }
  });

  test("a record that failed, and is on the disk all the same, does not come after one that was acknowledged later", async () => {
    for (let filled = 0; filled < 12; filled++) {
      const disk = createDisk();
      const counters = await open({ leastJournal: 200, openLog: disk.openLog });
      disk.clear = failing;
      for (let i = 0; i < filled; i++) await counters.open(`other ${filled}`, 5, 1_000, 1, LATER);
      disk.append = async (each, record) => {
        await each.append(record);
        return failing();
      };
      await expect(counters.open(`key ${filled}`, 5, 1_000, 7, LATER)).rejects.toThrow("the disk is gone");
      disk.append = undefined;
      await counters.open(`key ${filled}`, 5, 1_000, 100, LATER);
      await counters.charge(`key ${filled}`, 5, 1_000, 1);
      expect(await (await reopened()).read(`key ${filled}`)).toEqual({ seq: 5, current: 101, previous: 0 });
    }
  });

  test("a close amid changes keeps those that were acknowledged, and refuses the rest", async () => {
    for (let round = 0; round < 30; round++) {
      const counters = await open({ mostCounters: 20, leastJournal: 200 });
      const acknowledged: string[] = [];
      const work = Promise.all(
        Array.from({ length: 60 }, async (_, i) => {
          for (let turns = 0; turns < i / 3; turns++) await new Promise(setImmediate);
          const id = `round ${round} ${i}`;
          await counters.open(id, 5, 9, 1, LATER).then(
            () => acknowledged.push(id),
            (error: unknown) => expect(error).toBeInstanceOf(StoreUnavailableError),
          );
        }),
      );
      for (let turns = 0; turns < round; turns++) await new Promise(setImmediate);
      await counters.close();
      await work;
      const after = await reopened();
      for (const id of acknowledged) expect(await after.read(id)).toEqual({ seq: 5, current: 1, previous: 0 });
    }
  });

  test("a journal of a later version is refused, not misread", async () => {
    const later = openAppendLog(logs()[0] as string, STORE);
    await later.append({ number: 1, text: '[3,{"key":"a"}]' });
    await later.close();
    await expect(open()).rejects.toThrow("version 3");
  });

  test("keep any identifier apart, and what is no well-formed text as the other engine does", async () => {
    const counters = await open({ mostCounters: 3 });
    const keys = ["", "a\nb", 'quote " \\', "\u0000", "é", "e\u0301", "\u{1F511}", "[1]", "null", "__proto__"];
    for (const [i, key] of keys.entries()) await counters.open(key, 5, 99, i + 1, LATER);
    await counters.open("\ud800", 5, 99, 50, LATER);
    const after = await reopened();
    for (const [i, key] of keys.entries()) expect(await after.read(key)).toEqual({ seq: 5, current: i + 1, previous: 0 });
    expect(await after.read("\ufffd")).toEqual({ seq: 5, current: 50, previous: 0 });
  });

  const key = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const amount = fc.nat({ max: 3 });
  const seq = fc.integer({ min: 5, max: 7 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("open" as const), key, seq, amount }),
    fc.record({ kind: fc.constant("charge" as const), key, seq, amount }),
    fc.record({ kind: fc.constant("roll" as const), key, seq, amount }),
    fc.record({ kind: fc.constant("refund" as const), key, seq, amount }),
    fc.record({ kind: fc.constant("crash" as const), key, seq, amount }),
  );

  test("do what the same operations do in a collection, whatever crashes between", async () => {
    const store = openEmbeddedStore({ directory, clock: systemClock, mode: "tool" });
    await store.prepare();
    const collection = store.counters;
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const unique = (name: string): string => `${round} ${name}`;
        round++;
        let counters = await open({ mostCounters: 4, leastJournal: 300 });
        for (const { kind, key: name, seq: window, amount: by } of steps) {
          const id = unique(name);
          if (kind === "crash") {
            counters = await open({ mostCounters: 4, leastJournal: 300 });
            continue;
          }
          const known = (await collection.read(id)) ?? { seq: window, current: 0, previous: 0 };
          const run = async (on: typeof collection): Promise<unknown> => {
            if (kind === "open") return (await on.open(id, window, 4, by, LATER)) === null;
            if (kind === "charge") return (await on.charge(id, window, 4, by)) === null;
            if (kind === "roll") return on.roll(id, known, { seq: window, current: by, previous: known.current }, LATER);
            return on.refund(id, window, by);
          };
          expect(await run(counters)).toEqual(await run(collection));
          const state = await collection.read(id);
          expect(await counters.read(id)).toEqual(state && { seq: state.seq, current: state.current, previous: state.previous });
        }
      }),
      { numRuns: 100 },
    );
    await store.close();
  });
});

test("the counters of a file from before go on where they were", async () => {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-counters-"));
  const options = { directory, clock: systemClock } as const;
  const before = openEmbeddedStore({ ...options, mode: "tool" });
  await before.prepare();
  await before.counters.open("a", 5, 9, 4, LATER);
  await before.close();
  const server = openEmbeddedStore({ ...options, mode: "server" });
  await server.prepare();
  const counters = server.counters;
  expect(await counters.read("a")).toEqual({ seq: 5, current: 4, previous: 0 });
  await counters.charge("a", 5, 9, 1);
  await server.close();
  const again = openEmbeddedStore({ ...options, mode: "server" });
  await again.prepare();
  expect(await again.counters.read("a")).toEqual({ seq: 5, current: 5, previous: 0 });
  await again.close();
  const file = new DatabaseSync(join(directory, "latchkey.sqlite"), { readOnly: true });
  expect(file.prepare("SELECT count(*) AS n FROM counters").get()).toEqual({ n: 1 });
  file.close();
  await rm(directory, { recursive: true });
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
