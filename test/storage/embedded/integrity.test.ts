import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { damageIn } from "../../../src/storage/embedded/damage/integrity.ts";
import { filesIn } from "../../../src/storage/embedded/storeFiles.ts";
import { sampleKey } from "../contract/samples.ts";
import { withServerStore } from "./withServerStore.ts";

const KEYS = 1200;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-integrity-"));
  await withServerStore(directory, (store) => store.collection("keys").insertMany(Array.from({ length: KEYS }, () => sampleKey())));
});
afterEach(() => rm(directory, { recursive: true }));

test("beside a service the database is read in pieces, and every row of it", () => {
  const { database } = filesIn(directory);
  const prepared = vi.spyOn(DatabaseSync.prototype, "prepare");
  expect(damageIn(database, true)).toBeUndefined();
  const asked = prepared.mock.calls.map(([sql]) => sql).filter((sql) => /integrity_check|AS doc/.test(sql));
  prepared.mockRestore();
  expect(asked.length).toBeGreaterThan(2);
  for (const sql of asked) expect(sql).toMatch(/integrity_check\("\w+"\)|LIMIT \d+$/);
  const writer = new DatabaseSync(database);
  const last = "WHERE rowid=(SELECT max(rowid) FROM keys)";
  writer.exec(`UPDATE keys SET doc='{}' ${last} OR rowid=(SELECT min(rowid) FROM keys)`);
  writer.close();
  for (const isUsed of [true, false]) expect(damageIn(database, isUsed)).toBe("2 rows of keys hold no document");
});
