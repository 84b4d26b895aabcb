import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../src/domain/clock.ts";
import { examineStore, repairStore } from "../../../src/storage/embedded/damage/repairStore.ts";
import { salvage } from "../../../src/storage/embedded/damage/salvage.ts";
import { openEmbeddedStore } from "../../../src/storage/embedded/openEmbeddedStore.ts";
import { isServerLockTaken } from "../../../src/storage/embedded/serverLock.ts";
import { filesIn, sizeOf } from "../../../src/storage/embedded/storeFiles.ts";
import type { Store } from "../../../src/storage/port/store.ts";
import { sampleKey } from "../contract/samples.ts";
import { withServerStore } from "./withServerStore.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-alone-"));
});
afterEach(() => rm(directory, { recursive: true }));

const opened = <T>(use: (store: Store) => Promise<T>): Promise<T> => withServerStore(directory, use);
const keysLeft = () => opened(async (store) => (await store.collection("keys").find({}).toArray()).length);

test("repair and a second server keep off a service whose lock file came to hold something", async () => {
  await opened(async (store) => {
    const { lock } = filesIn(directory);
    await writeFile(lock, "something");
    expect(isServerLockTaken(lock)).toBe(true);
    const busy = `another server uses the data directory ${directory}`;
    expect(() => repairStore(directory, systemClock)).toThrow(busy);
    const second = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
    await expect(second.prepare()).rejects.toThrow(busy);
    await second.close();
    await store.collection("keys").insertOne(sampleKey());
  });
  expect(isServerLockTaken(filesIn(directory).lock)).toBe(false);
  expect(repairStore(directory, systemClock)).toHaveLength(1);
  expect(await keysLeft()).toBe(1);
});

test("repair replaces nothing while another process has the database open", async () => {
  const { database, logs } = filesIn(directory);
  await opened((store) => store.collection("keys").insertOne(sampleKey()));
  const tool = new DatabaseSync(database);
  tool.prepare("SELECT count(*) FROM keys").get();
  await rm(logs[0]);
  await rm(logs[1]);
  const before = await readdir(directory);
  expect(() => repairStore(directory, systemClock)).toThrow(`another process has ${database} open`);
  expect(await readdir(directory)).toEqual(before);
  tool.close();
  expect(repairStore(directory, systemClock)).not.toEqual([]);
  expect(await keysLeft()).toBe(1);
});

test("a repair that was killed between taking the damaged database away and putting the new one there is finished by the next", async () => {
  const { database, wal } = filesIn(directory);
  const other = join(directory, "crashed");
  await opened(async (store) => {
    await store.collection("keys").insertOne(sampleKey());
    await copyFile(database, other);
    await copyFile(wal, `${other}-wal`);
  });
  // The new one has the row, the old one has it in its log only.
  await copyFile(database, `${database}.new`);
  await copyFile(other, `${database}.damaged-before`);
  await copyFile(`${other}-wal`, wal);
  for (const file of [database, other, `${other}-wal`]) await rm(file);
  const bytes = await readFile(wal);
  expect(repairStore(directory, systemClock)).toEqual([expect.stringContaining("a repair that did not end")]);
  expect(examineStore(directory)).toEqual([]);
  expect(await keysLeft()).toBe(1);
  const kept = (await readdir(directory)).filter((name) => /damaged.*-wal$/.test(name));
  expect(kept).toHaveLength(1);
  expect(await readFile(join(directory, kept[0] as string))).toEqual(bytes);
});

test("a new database without room says which file has none, and leaves nothing of it", async () => {
  const { database } = filesIn(directory);
  await opened((store) => store.collection("keys").insertMany(Array.from({ length: 50 }, () => sampleKey())));
  const target = `${database}.part`;
  const full = DatabaseSync.prototype.exec;
  // The smallest disk there is: a database that may not grow.
  DatabaseSync.prototype.exec = function (sql) {
    full.call(this, sql);
    if (sql === "BEGIN") full.call(this, "PRAGMA max_page_count=12");
  };
  try {
    expect(() => salvage(database, target, { store: "0".repeat(32), commits: 1 })).toThrow(
      `${target} cannot be written: database or disk is full`,
    );
  } finally {
    DatabaseSync.prototype.exec = full;
  }
  expect(sizeOf(target)).toBeUndefined();
  expect(sizeOf(database)).toBeGreaterThan(0);
});

test("rows behind a beginning that is damaged are kept, and none of them counts as lost", async () => {
  const { database } = filesIn(directory);
  await opened((store) => store.collection("keys").insertMany(Array.from({ length: 50 }, () => sampleKey())));
  await writeFile(database, Buffer.alloc(100, 0xa5), { flag: "r+" });
  const target = `${database}.part`;
  const salvaged = salvage(database, target, { store: "0".repeat(32), commits: 1 });
  expect(salvaged.find(({ collection }) => collection === "keys")).toMatchObject({ kept: 50, lost: 0 });
});
