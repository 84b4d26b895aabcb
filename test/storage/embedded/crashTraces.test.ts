import { copyFile, mkdtemp, open, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../src/domain/clock.ts";
import { gatherEvidence } from "../../../src/storage/embedded/damage/evidence.ts";
import { examineStore, repairStore } from "../../../src/storage/embedded/damage/repairStore.ts";
import { nameStore } from "../../../src/storage/embedded/sqlite/storeRow.ts";
import { filesIn, sizeOf } from "../../../src/storage/embedded/storeFiles.ts";
import type { Store } from "../../../src/storage/port/store.ts";
import { sampleKey } from "../contract/samples.ts";
import { withServerStore } from "./withServerStore.ts";

const STORE = "0123456789abcdef0123456789abcdef";
const PAGE = 4096;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-traces-"));
});
afterEach(() => rm(directory, { recursive: true }));

const opened = <T>(use: (store: Store) => Promise<T>): Promise<T> => withServerStore(directory, use);

/** Makes of the database one that a crash interrupted in a change before it had a log: as a new one, or a copy by `VACUUM INTO`. */
const interrupt = async (): Promise<void> => {
  const { database: file, journal } = filesIn(directory);
  const elsewhere = join(directory, "elsewhere");
  const database = new DatabaseSync(file);
  database.exec("PRAGMA journal_mode=DELETE; PRAGMA cache_size=1; BEGIN; CREATE TABLE half (a)");
  const insertion = database.prepare("INSERT INTO half VALUES (zeroblob(3000))");
  for (let i = 0; i < 50; i++) insertion.run();
  await copyFile(file, elsewhere);
  await copyFile(journal, `${elsewhere}-journal`);
  database.exec("ROLLBACK");
  database.close();
  await copyFile(elsewhere, file);
  await copyFile(`${elsewhere}-journal`, journal);
  await rm(elsewhere);
  await rm(`${elsewhere}-journal`);
};

test("a crash in the middle of the first start, or of the first one after a restore, is undone by the next start", async () => {
  await interrupt();
  expect(sizeOf(filesIn(directory).database)).toBeGreaterThan(0);
  expect(() => examineStore(directory)).toThrow("the next start undoes that");
  const key = sampleKey();
  await opened((store) => store.collection("keys").insertOne(key));
  await interrupt();
  const told: string[] = [];
  const log = { info: () => undefined, warn: (_: object, message: string) => void told.push(message) };
  await withServerStore(directory, async (store) => expect(await store.collection("keys").findOne({ _id: key._id })).toEqual(key), log);
  expect(told).toEqual(["a change of the embedded store that a crash interrupted was undone"]);
  expect(examineStore(directory)).toEqual([]);
});

test("repair undoes what a crash interrupted, and finds nothing damaged then", async () => {
  const key = sampleKey();
  await opened((store) => store.collection("keys").insertOne(key));
  await interrupt();
  expect(repairStore(directory, systemClock)).toEqual([]);
  await opened(async (store) => expect(await store.collection("keys").findOne({ _id: key._id })).toEqual(key));
});

test("a database that grows beyond a gibibyte in the log is not cut off: the page of SQLite's locks is never written", async () => {
  const files = filesIn(directory);
  const pages = 2 ** 30 / PAGE - 1;
  const first = new DatabaseSync(files.database);
  first.exec("PRAGMA journal_mode=WAL");
  nameStore(first, STORE);
  first.close();
  // As if it had that many pages already: a hole in the file.
  const header = new DatabaseSync(files.database);
  header.exec("PRAGMA journal_mode=DELETE");
  header.close();
  await truncate(files.database, pages * PAGE);
  const count = Buffer.alloc(4);
  count.writeUInt32BE(pages);
  const handle = await open(files.database, "r+");
  await handle.write(count, 0, 4, 28);
  await handle.close();
  const database = new DatabaseSync(files.database);
  database.exec("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE more (a)");
  database.exec("INSERT INTO more VALUES (zeroblob(100000))");
  const evidence = gatherEvidence(files, true);
  expect(evidence.wal?.pages.has(pages + 1)).toBe(true);
  expect(evidence.wal?.pages.has(pages + 2)).toBe(false);
  expect(evidence.isCutOff).toBe(false);
  database.close();
});
