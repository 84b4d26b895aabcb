import { copyFile, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../src/domain/clock.ts";
import { encodeRecord, headOf, textOfRecord } from "../../../src/storage/embedded/counters/logRecords.ts";
import { gatherEvidence } from "../../../src/storage/embedded/damage/evidence.ts";
import { examineStore, repairStore } from "../../../src/storage/embedded/damage/repairStore.ts";
import { readWal } from "../../../src/storage/embedded/damage/walEvidence.ts";
import { readMarks, replaceMarks } from "../../../src/storage/embedded/marks.ts";
import { nameStore } from "../../../src/storage/embedded/sqlite/storeRow.ts";
import { filesIn } from "../../../src/storage/embedded/storeFiles.ts";
import { sampleKey } from "../contract/samples.ts";
import { withServerStore } from "./withServerStore.ts";

const STORE = "0123456789abcdef0123456789abcdef";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-lost-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("records whose writing failed do not count as lost", async () => {
  const { logs } = filesIn(directory);
  const record = (number: number, after?: number) => encodeRecord({ number, text: textOfRecord([], after) });
  // 2 and 6 were never acknowledged, 4 and 5 are lost.
  await writeFile(logs[0], Buffer.concat([encodeRecord(headOf(STORE)), record(1), record(3, 1), record(7, 5)]));
  expect(gatherEvidence(filesIn(directory), true).logs?.[0]).toMatchObject({ missing: 2 });
});

test("of a database that is older than its log the lost commits are counted by what is newest, and told once", async () => {
  const files = filesIn(directory);
  const { database, wal, shm, marks } = files;
  const [old, log] = [join(directory, "old"), join(directory, "log")];
  const insertInto = async (count: number, then: () => Promise<void>): Promise<void> => {
    await withServerStore(directory, async (store) => {
      for (let i = 0; i < count; i++) await store.collection("keys").insertOne(sampleKey());
      await then();
    });
  };
  await insertInto(1, async () => undefined);
  await copyFile(database, old);
  await insertInto(5, async () => undefined);
  const before = readMarks(marks);
  await insertInto(3, async () => {
    await copyFile(wal, log);
  });
  await copyFile(old, database);
  await copyFile(log, wal);
  await rm(shm, { force: true });
  // As they are after a power cut.
  if (before !== "damaged") replaceMarks(files, { ...before, commits: 1 });
  const first = readWal(wal).firstCommits(before === "damaged" ? "" : before.store) ?? 0;
  const known = new DatabaseSync(old).prepare("SELECT commits FROM store").get()?.commits as number;
  expect(first - known).toBeGreaterThan(1);
  expect(examineStore(directory)).toMatchObject([{ kind: "wal", lost: `the last ${first - known} commits` }]);
  if (before !== "damaged") replaceMarks(files, { ...before, commits: first + 3 });
  expect(repairStore(directory, systemClock)).toEqual([expect.stringContaining(`Lost: the last ${first + 3 - known} commits.`)]);
});

test("a log of SQLite's that is larger than a buffer can be is read page by page", async () => {
  const { database: file, wal } = filesIn(directory);
  const database = new DatabaseSync(file);
  database.exec("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0");
  nameStore(database, STORE);
  const handle = await open(wal, "r+");
  // A hole, which takes no room.
  await handle.truncate(3 * 2 ** 30);
  await handle.close();
  const evidence = readWal(wal);
  expect(evidence.pages.size).toBeGreaterThan(0);
  expect(evidence.firstCommits(STORE)).toBe(0);
  database.close();
});
