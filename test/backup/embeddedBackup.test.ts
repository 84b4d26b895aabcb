// @same-on-every-engine
import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { runLatchkeyHere } from "../../bench/harness/commandLine.ts";
import { withStoreOf } from "../../bench/harness/placed.ts";
import { checkBackup } from "../../src/operations/backup/checkBackup.ts";
import { storeSource } from "../../src/operations/backup/storeSource.ts";
import { writeBackup } from "../../src/operations/backup/writeBackup.ts";
import { storeWithLog } from "../support/auditStore.ts";
import { sampleBackup } from "../support/sampleBackup.ts";
import { embeddedPlace, freshDirectory } from "../support/storePlaces.ts";

/** The same backup with other lines, and a checksum that is wrong unless a test makes it right. */
const rewrite = async (file: string, change: (lines: string[]) => string[]): Promise<string> => {
  const changed = `${file}.changed`;
  const lines = zstdDecompressSync(await readFile(file))
    .toString()
    .split("\n");
  await writeFile(changed, zstdCompressSync(change(lines).join("\n")));
  return changed;
};

describe("a backup that is not as it was written", () => {
  const sample = async (): Promise<string> => sampleBackup(await embeddedPlace());

  test.each([
    ["has lost its end", (lines: string[]) => [...lines.slice(0, -2), ""], "it has no end: it was not finished, or was cut off"],
    ["ends within a line", (lines: string[]) => [lines.join("\n").slice(0, -10)], "it ends in the middle of a line"],
    ["has lost a line", (lines: string[]) => lines.toSpliced(10, 1), "its checksum does not fit"],
    [
      "has another line",
      (lines: string[]) => lines.toSpliced(10, 1, lines[10]?.replace(/"enabled":true/, '"enabled":false') ?? ""),
      "its checksum does not fit",
    ],
    ["goes on behind its end", (lines: string[]) => [...lines.slice(0, -1), "{}", ""], "something follows its end"],
    [
      "is of a later form",
      (lines: string[]) => lines.with(0, lines[0]?.replace('"latchkeyBackup":1', '"latchkeyBackup":2') ?? ""),
      "in form 2; this version reads up to 1",
    ],
    ["is something else", () => ['{"hello":1}', ""], "it does not begin as one"],
    ["does not say who wrote it", (lines: string[]) => lines.with(0, lines[0]?.replace('"test"', "{}") ?? ""), "it does not begin as one"],
    [
      "does not say when",
      (lines: string[]) => lines.with(0, lines[0]?.replace(/"takenAt":\d+/, '"takenAt":1e999') ?? ""),
      "not begin as one",
    ],
    ["says nothing at its end", (lines: string[]) => [...lines.slice(0, -2), '["end",null,""]', ""], "it does not end as one"],
    [
      "would steer a terminal",
      (lines: string[]) => lines.with(0, lines[0]?.replace('"test"', '"\\u001b[2Jtest"').replace('Backup":1', 'Backup":9') ?? ""),
      "it was written by [2Jtest in form 9",
    ],
    ["is of no JSON", () => ["hello", ""], "it is damaged, or something else"],
    [
      "has an unknown collection",
      (lines: string[]) => lines.toSpliced(1, 0, '["leases"]'),
      'a collection "leases", which this version does not know',
    ],
  ])("[data §1] and %s is refused by name", async (_, change, why) => {
    const changed = await rewrite(await sample(), change);
    await expect(checkBackup(changed)).rejects.toThrow(why);
  });

  test("[data §1] and is of a newer schema, cut off anywhere, or no compressed file is refused", async () => {
    const file = await sample();
    const newer = await rewrite(file, (lines) => lines.with(0, lines[0]?.replace(/"schema":\d+/, '"schema":99') ?? ""));
    await expect(checkBackup(newer)).rejects.toThrow("its schema is 99");
    const { length } = await readFile(file);
    for (const bytes of [0, 3, 100, Math.floor(length / 2), length - 1]) {
      await truncate(file, bytes);
      await expect(checkBackup(file)).rejects.toThrow(/is no backup that can be used/);
    }
    await writeFile(file, "SQLite format 3");
    await expect(checkBackup(file)).rejects.toThrow("it is damaged, or something else");
  });

  test("[data §1] and whose audit log was altered before it was taken is restored only on request", async () => {
    const env = await storeWithLog(20);
    const file = join(await freshDirectory(), "altered.backup");
    await withStoreOf(env, async (store) => {
      await store.collection("audit").updateOne({ _id: "evt_7" }, { $set: { previousHash: "0".repeat(64) } });
      await writeBackup(await storeSource(store, "the test"), file, { product: "test", now: 1 });
    });
    expect(await checkBackup(file)).toMatchObject({ entries: 20, fault: "entry 8 (evt_7) does not follow on the entry before it" });
    const target = { DATA_DIR: await freshDirectory() };
    const refused = await runLatchkeyHere(["restore", file], target);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("--despite-audit-faults restores it as it is") });
    const restored = await runLatchkeyHere(["restore", file, "--despite-audit-faults"], target);
    expect(restored).toMatchObject({ code: 0, stderr: expect.stringContaining("entry 8 (evt_7) does not follow on") });
    const copy = `${file}.import`;
    const { MONGODB_URL } = env;
    const into = { DATA_DIR: await freshDirectory(), ...(MONGODB_URL !== undefined && { FROM_MONGODB_URL: MONGODB_URL }) };
    const from = MONGODB_URL === undefined ? ["--from-data-dir", env.DATA_DIR ?? ""] : [];
    expect(await runLatchkeyHere(["import", ...from, "--file", copy], into)).toMatchObject({ code: 1 });
    const told = await runLatchkeyHere(["import", ...from, "--file", copy, "--despite-audit-faults"], into);
    expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining("restored and compared") });
  });
});
