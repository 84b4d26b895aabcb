import { existsSync } from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { BackupSource } from "../../src/operations/backup/backupSource.ts";
import { checkBackup } from "../../src/operations/backup/checkBackup.ts";
import { writeBackup } from "../../src/operations/backup/writeBackup.ts";
import { freshDirectory } from "../support/storePlaces.ts";

/** A source of one document. @param meanwhile runs before it is read */
const sourceWith = (id: string, meanwhile?: () => Promise<unknown>): BackupSource => ({
  facts: { engine: "embedded", schema: 1, madeBy: 1 },
  size: 1,
  read: async function* () {
    await meanwhile?.();
    yield { collection: "apis", texts: [JSON.stringify({ _id: id })] };
  },
});

const freshFile = async (): Promise<string> => join(await freshDirectory(), "one.backup");
const facts = { product: "test", now: 1 };

test("[data §1] a file that comes to be while a backup is taken is not overwritten", async () => {
  const file = await freshFile();
  await expect(
    writeBackup(
      sourceWith("one", () => writeFile(file, "somebody's")),
      file,
      facts,
    ),
  ).rejects.toThrow("exists already");
  expect(await readFile(file, "utf8")).toBe("somebody's");
  expect(await readdir(dirname(file))).toEqual(["one.backup"]);
});

test("[data §1] of two concurrent backups to one file only a whole one gets its name", async () => {
  const file = await freshFile();
  const second = Promise.withResolvers<void>();
  let other: Promise<unknown> = Promise.resolve();
  const begun = Promise.withResolvers<void>();
  const first = sourceWith("first", async () => {
    const source = sourceWith("second", () => {
      begun.resolve();
      return second.promise;
    });
    other = writeBackup(source, file, facts);
    await begun.promise;
  });
  await expect(writeBackup(first, file, facts)).rejects.toThrow("another backup is being written to");
  expect(existsSync(file)).toBe(false);
  second.resolve();
  await other;
  expect(await checkBackup(file)).toMatchObject({ documents: 1 });
  expect(await readdir(dirname(file))).toEqual(["one.backup"]);
});

test("[data §1] the remains of a killed attempt are replaced, and one that fails leaves nothing", async () => {
  const file = await freshFile();
  await writeFile(`${file}.part`, "half");
  const failing = sourceWith("one", () => Promise.reject(new Error("no space left")));
  await expect(writeBackup(failing, file, facts)).rejects.toThrow("no space left");
  expect(await readdir(dirname(file))).toEqual([]);
  await writeFile(`${file}.part`, "half");
  await writeBackup(sourceWith("one"), file, facts);
  expect(await checkBackup(file)).toMatchObject({ documents: 1 });
  await rm(file);
});
