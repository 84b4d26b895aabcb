import { copyFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../src/domain/clock.ts";
import { findDamage } from "../../../src/storage/embedded/damage/findDamage.ts";
import { openEmbeddedStore } from "../../../src/storage/embedded/openEmbeddedStore.ts";
import { isServerLockTaken } from "../../../src/storage/embedded/serverLock.ts";
import { filesIn, sizeOf } from "../../../src/storage/embedded/storeFiles.ts";
import type { Store } from "../../../src/storage/port/store.ts";
import { chargeWindow } from "../../support/chargeWindow.ts";
import { sized } from "../../support/sized.ts";
import { sampleKey } from "../contract/samples.ts";
import { withServerStore } from "./withServerStore.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-traces-"));
});
afterEach(() => rm(directory, { recursive: true }));

const opened = <T>(use: (store: Store) => Promise<T>): Promise<T> => withServerStore(directory, use);

/** Makes of the database one that a crash interrupted in a change before it had a log: as a new one, or a copy by `VACUUM INTO`. */
const interrupt = async (): Promise<void> => {
  const { database: file } = filesIn(directory);
  const journal = `${file}-journal`;
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
  expect(() => findDamage(filesIn(directory), false)).toThrow("the next start undoes it");
  const key = sampleKey();
  await opened((store) => store.collection("keys").insertOne(key));
  await interrupt();
  await opened(async (store) => expect(await store.collection("keys").findOne({ _id: key._id })).toEqual(key));
  expect(findDamage(filesIn(directory), false)).toBeUndefined();
});

test("a crash that cut off what it was writing, anywhere, starts with everything that was written before it", async () => {
  const { database, counters } = filesIn(directory);
  const images = new Map<string, Buffer>();
  await opened(async (store) => {
    for (let i = 0; i < 20; i++) {
      await store.collection("keys").insertOne(sampleKey({ _id: `key_${i}`, hash: `${i}` }));
      await chargeWindow(store.counters, `counter ${i}`, 5, 9, 1);
    }
    for (const file of [database, counters]) {
      for (const part of [file, `${file}-wal`]) images.set(part, await readFile(part));
    }
  });
  for (const cutFile of [`${database}-wal`, `${counters}-wal`]) {
    const size = images.get(cutFile)?.length ?? 0;
    let [keysBefore, countersBefore] = [0, 0];
    for (let at = 0; at <= size; at += Math.ceil(size / sized(12, 300))) {
      for (const [file, bytes] of images) {
        await writeFile(file, bytes);
      }
      for (const file of [database, counters]) await rm(`${file}-shm`, { force: true });
      await truncate(cutFile, at);
      await opened(async (store) => {
        const keys = await store.collection("keys").find({}).toArray();
        const counts = await Promise.all(Array.from({ length: 20 }, (_, i) => store.counters.read(`counter ${i}`)));
        const counted = counts.filter((counter) => counter !== null).length;
        if (cutFile.startsWith(counters)) expect(keys).toHaveLength(20);
        expect(keys.length).toBeGreaterThanOrEqual(keysBefore);
        if (cutFile.startsWith(counters)) expect(counted).toBeGreaterThanOrEqual(countersBefore);
        [keysBefore, countersBefore] = [keys.length, counted];
      });
      expect(findDamage(filesIn(directory), false)).toBeUndefined();
    }
  }
});

test("a row that holds no document is found next to a service, too, where the file is read table by table", async () => {
  await opened(async (store) => {
    await store.collection("keys").insertMany(Array.from({ length: 1_200 }, () => sampleKey()));
    const files = filesIn(directory);
    expect(findDamage(files, true)).toBeUndefined();
    const writer = new DatabaseSync(files.database);
    writer.exec("UPDATE keys SET doc='{' WHERE rowid IN (SELECT max(rowid) FROM keys UNION SELECT min(rowid) FROM keys)");
    writer.close();
    for (const isUsed of [true, false])
      expect(findDamage(files, isUsed)).toBe(`${files.database} is damaged (2 rows of keys hold no JSON)`);
  });
});

test("a second server keeps off a service whose lock file came to hold something", async () => {
  const { lock } = filesIn(directory);
  await opened(async (store) => {
    await writeFile(lock, "something");
    expect(isServerLockTaken(lock)).toBe(true);
    const second = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
    await expect(second.prepare()).rejects.toThrow(`another server uses the data directory ${directory}`);
    await second.close();
    await store.collection("keys").insertOne(sampleKey());
  });
  expect(isServerLockTaken(lock)).toBe(false);
  await opened(async (store) => expect(await store.collection("keys").find({}).toArray()).toHaveLength(1));
  expect((await stat(lock)).size).toBe(0);
});
