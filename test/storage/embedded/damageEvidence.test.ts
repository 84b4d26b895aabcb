import { cp, mkdir, mkdtemp, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCommand } from "../../../bench/harness/commandLine.ts";
import { systemClock } from "../../../src/domain/clock.ts";
import { type AppendLog, openAppendLog } from "../../../src/storage/embedded/counters/appendLog.ts";
import { createJournaledCounters } from "../../../src/storage/embedded/counters/journaledCounters.ts";
import type { JournaledCounters, JournaledCountersOptions } from "../../../src/storage/embedded/counters/journaledCountersOptions.ts";
import { encodeRecord } from "../../../src/storage/embedded/counters/logRecords.ts";
import { gatherEvidence } from "../../../src/storage/embedded/damage/evidence.ts";
import { examineStore } from "../../../src/storage/embedded/damage/repairStore.ts";
import { type Marks, readMarks } from "../../../src/storage/embedded/marks.ts";
import { filesIn } from "../../../src/storage/embedded/storeFiles.ts";
import { SCHEMA_VERSION } from "../../../src/storage/port/baseDocument.ts";
import { StoreUnavailableError } from "../../../src/storage/port/errors.ts";
import type { Store } from "../../../src/storage/port/store.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleKey } from "../contract/samples.ts";
import { withServerStore } from "./withServerStore.ts";

const LATER = new Date(8_000_000_000_000);
const STORE = "0123456789abcdef0123456789abcdef";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-evidence-"));
});
afterEach(() => rm(directory, { recursive: true }));

const opened = <T>(use: (store: Store) => Promise<T>): Promise<T> => withServerStore(directory, use);

test("[issue 15, 10] a directory of the version before starts without a word, and is guarded from then on", async () => {
  const key = sampleKey();
  await opened((store) => store.collection("keys").insertOne(key));
  // It had no row of the store, no marks, and no heads in the journal.
  const database = new DatabaseSync(filesIn(directory).database);
  database.exec("DROP TABLE store");
  database.close();
  const [older, newer] = filesIn(directory).logs;
  const record = (number: number, count: number) => encodeRecord({ number, text: `[1,["a",5,${count},0,8000000000000]]` });
  // The second one of three could not be written.
  await writeFile(older, Buffer.concat([record(1_001, 1), record(1_003, 2)]));
  await writeFile(newer, "");
  await rm(filesIn(directory).marks);
  expect(examineStore(directory)).toEqual([]);
  for (const added of [1, 1]) {
    await opened(async (store) => {
      expect(await store.collection("keys").findOne({ _id: key._id })).toEqual(key);
      await store.counters.charge("a", 5, 100, added);
    });
    expect(examineStore(directory)).toEqual([]);
  }
  await truncate(newer, 0);
  await truncate(older, 0);
  await expect(opened(async () => undefined)).rejects.toThrow("is empty");
});

test("[issue 15, 10] what a service writes meanwhile is no damage for doctor", async () => {
  await opened(async (store) => {
    let isRunning = true;
    const counters = store.counters;
    const work = async (): Promise<void> => {
      while (isRunning) {
        await Promise.all([store.collection("keys").insertOne(sampleKey()), counters.open(sampleKey()._id, 5, 9, 1, LATER)]);
      }
    };
    const workers = [work(), work(), work()];
    for (let round = 0; round < 10; round++) {
      expect(examineStore(directory)).toEqual([]);
      for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
    }
    isRunning = false;
    await Promise.all(workers);
  });
});

test("[issue 15, 10] repair leaves a store alone that a service uses", async () => {
  await opened(async () => {
    expect(await runCommand(["repair"], { DATA_DIR: directory })).toMatchObject({
      code: 1,
      complained: [expect.stringContaining(`another server uses the data directory ${directory}`)],
    });
  });
});

test("[issue 15, 10] repair leaves a store of a newer version to that version", async () => {
  await opened((store) => store.collection("system").updateOne({ _id: "schema" }, { $set: { schema: SCHEMA_VERSION + 1 } }));
  await rm(filesIn(directory).marks);
  const repair = await runCommand(["repair"], { DATA_DIR: directory });
  expect(repair).toMatchObject({ code: 1, complained: [expect.stringContaining("written by a newer version")] });
});

/** Counters whose table is lost: only the journal matters here. */
const openCounters = async (options: Partial<JournaledCountersOptions>): Promise<JournaledCounters> => {
  const write = async () => ({ matched: 0, modified: 0, upserted: 0, deleted: 0 });
  const counters = createJournaledCounters({
    directory,
    clock: systemClock,
    find: () => undefined,
    tableIsEmpty: () => true,
    write,
    ...options,
  });
  await counters.recover(STORE);
  return counters;
};

const lastRecordIn = (place: string): number => Math.max(...(gatherEvidence(filesIn(place), true).logs ?? []).map(({ last }) => last));

/** The last number in the journal, which has nothing that looks like damage. */
const lastInJournal = (): number => {
  const { logs } = gatherEvidence(filesIn(directory), true);
  for (const log of logs ?? []) expect(log).toMatchObject({ store: STORE, missing: 0, damagedBytes: 0 });
  return lastRecordIn(directory);
};

test("[issue 15, 10] whatever is moved out of the journal, its last number stays in it", async () => {
  for (const bounds of [{ mostCounters: 20 }, { leastJournal: 300 }]) {
    let marked = 0;
    const mark = (record: number): void => {
      marked = record;
    };
    for (let round = 0; round < 3; round++) {
      const counters = await openCounters({ ...bounds, mark });
      let last = 0;
      for (let i = 0; i < 200; i++) {
        await counters.open(`counter ${round} ${i}`, 5, 9, 1, LATER);
        const now = lastInJournal();
        expect(now).toBeGreaterThanOrEqual(Math.max(last, marked));
        last = now;
      }
      await counters.close();
      expect(marked).toBe(lastInJournal());
    }
  }
});

test("[issue 15, 10] a crash while the journal is emptied at the start leaves its last number in it", async () => {
  for (const step of ["clear 1", "append 1", "clear 2"]) {
    const writing = await openCounters({});
    await writing.open(`a ${step}`, 5, 9, 1, LATER);
    await writing.close();
    const before = lastInJournal();
    let cleared = 0;
    let appended = 0;
    const stopAt = async (now: string, go: () => Promise<void>): Promise<void> => {
      if (now === step) throw new StoreUnavailableError("the machine stops");
      await go();
    };
    const openLog = (file: string, store: string): AppendLog => {
      const log = openAppendLog(file, store);
      return {
        ...log,
        clear: () => stopAt(`clear ${++cleared}`, log.clear),
        append: (record) => stopAt(`append ${++appended}`, () => log.append(record)),
      };
    };
    await expect(openCounters({ openLog })).rejects.toThrow("the machine stops");
    expect(lastInJournal()).toBeGreaterThanOrEqual(before);
  }
});

test("[issue 15, 10] records that could not be written are not missed later", async () => {
  let isFull = false;
  const openLog = (file: string, store: string): AppendLog => {
    const log = openAppendLog(file, store);
    return { ...log, append: async (record) => (isFull ? Promise.reject(new StoreUnavailableError("full")) : log.append(record)) };
  };
  const counters = await openCounters({ openLog });
  for (let i = 0; i < 20; i++) {
    isFull = i % 3 === 1;
    await counters.open(`a ${i}`, 5, 9, 1, LATER).catch((error: unknown) => expect(error).toMatchObject({ message: "full" }));
  }
  await counters.close();
  lastInJournal();
});

test("[issue 15, 10] how much is lost is said: commits of a log that was removed, records of a journal that was cut off", async () => {
  const copy = join(directory, "copy");
  const { logs, wal } = filesIn(copy);
  // What is folded into the database is not lost with the log.
  await opened((store) => store.collection("keys").insertOne(sampleKey()));
  let ends: number[] = [];
  await opened(async (store) => {
    for (let i = 0; i < 27; i++) await store.collection("keys").insertOne(sampleKey());
    const counters = store.counters;
    const sizes = async () => (await Promise.all(filesIn(directory).logs.map((file) => stat(file)))).map(({ size }) => size);
    for (let i = 0; i < 10; i++) {
      if (i === 7) ends = await sizes();
      await counters.open(`counter ${i}`, 5, 9, 1, LATER);
    }
    const marked = async () => (readMarks(filesIn(directory).marks) as Marks).record;
    const last = lastRecordIn(directory);
    await eventually(async () => expect(await marked()).toBe(last));
    const { database, wal: log, marks } = filesIn(directory);
    await mkdir(copy);
    for (const file of [database, log, marks, ...filesIn(directory).logs]) await cp(file, join(copy, basename(file)));
  });
  for (const [i, file] of logs.entries()) await truncate(file, ends[i]);
  expect(examineStore(copy)).toMatchObject([{ kind: "log", lost: "the last 3 records of rate limit counts" }]);
  await rm(wal);
  expect(examineStore(copy)).toMatchObject([{ kind: "behind", lost: "the last 27 commits" }, { kind: "log" }]);
});
