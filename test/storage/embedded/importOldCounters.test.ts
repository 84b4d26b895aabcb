import { copyFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSnapshot } from "../../../src/storage/embedded/openSnapshot.ts";
import type { Store } from "../../../src/storage/port/store.ts";
import { chargeWindow } from "../../support/chargeWindow.ts";
import { withServerStore } from "./withServerStore.ts";

/**
 * Files of a store that version 0.11.3 left: a key, counters in the table and in both logs, of which `counters-b.log` was written first,
 * and one that expired a second later.
 */
const fixture = join(import.meta.dirname, "store-0.11");

let directory: string;
let warnings: string[];
const log = { info: () => undefined, warn: (_: object, message: string) => void warnings.push(message) };

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-import-"));
  warnings = [];
  for (const name of ["counters-a.log", "counters-b.log", "latchkey.marks"]) await copyFile(join(fixture, name), join(directory, name));
  await writeFile(join(directory, "latchkey.sqlite"), gunzipSync(await readFile(join(fixture, "latchkey.sqlite.gz"))));
});
afterEach(() => rm(directory, { recursive: true }));

const counts = {
  "in the table": { seq: 5, current: 3, previous: 0 },
  "in the table, then changed": { seq: 5, current: 7, previous: 0 },
  "in the first log": { seq: 6, current: 1, previous: 0 },
  "in both logs": { seq: 7, current: 1, previous: 2 },
  '"quoted" ü 𝒳 [1,2]': { seq: 6, current: 8, previous: 0 },
} as const;

const countsIn = async (store: Store): Promise<Record<string, unknown>> =>
  Object.fromEntries(await Promise.all(Object.keys(counts).map(async (key) => [key, await store.counters.read(key)])));

test("a store of version 0.11 opens with its keys and counts, and its old files are gone", async () => {
  await withServerStore(
    directory,
    async (store) => {
      expect(await store.collection("keys").findOne({ _id: "key_of_0_11" })).toMatchObject({ hash: "hash_of_0_11" });
      expect(await countsIn(store)).toEqual(counts);
      expect(await store.counters.read("expired")).toBeNull();
      await chargeWindow(store.counters, "in both logs", 7, 100, 5);
    },
    log,
  );
  expect(warnings).toEqual([]);
  expect((await readdir(directory)).sort()).toEqual(["counters.sqlite", "latchkey.lock", "latchkey.sqlite"]);
  await withServerStore(directory, async (store) => expect((await store.counters.read("in both logs"))?.current).toBe(6), log);
  expect(warnings).toEqual([]);
});

test("a backup of a store of version 0.11 has its counts before the first start", () => {
  const snapshot = openSnapshot(directory);
  const found = [...snapshot.texts("counters")].map((text) => JSON.parse(text) as { _id: string; current: number });
  snapshot.close();
  for (const [key, { current }] of Object.entries(counts)) expect(found.find(({ _id }) => _id === key)?.current).toBe(current);
});

test("a log that a crash cut off is read up to there", async () => {
  const file = join(directory, "counters-a.log");
  await truncate(file, (await readFile(file)).length - 1);
  await withServerStore(directory, async (store) => expect(await countsIn(store)).toEqual({ ...counts, '"quoted" ü 𝒳 [1,2]': null }));
});
