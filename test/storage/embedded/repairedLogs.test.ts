import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../src/domain/clock.ts";
import { encodeRecord, headOf, textOfRecord } from "../../../src/storage/embedded/counters/logRecords.ts";
import { examineStore, repairStore } from "../../../src/storage/embedded/damage/repairStore.ts";
import { createMarks, type Marks, readMarks } from "../../../src/storage/embedded/marks.ts";
import { filesIn } from "../../../src/storage/embedded/storeFiles.ts";
import { withServerStore } from "./withServerStore.ts";

let directory: string;
let marks: Marks;

const start = (): Promise<void> => withServerStore(directory, async () => undefined);

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-logs-"));
  await start();
  marks = readMarks(filesIn(directory).marks) as Marks;
});
afterEach(() => rm(directory, { recursive: true }));

const record = (number: number, after?: number) =>
  encodeRecord({ number, text: textOfRecord([`["a",5,${number},0,8000000000000]`], after) });

const writeLogs = async (a: readonly Buffer[], b: readonly Buffer[], last: number): Promise<void> => {
  const { logs, marks: file } = filesIn(directory);
  const head = encodeRecord(headOf(marks.store));
  await writeFile(logs[0], Buffer.concat([head, ...a]));
  await writeFile(logs[1], Buffer.concat([head, ...b]));
  await rm(file);
  createMarks(filesIn(directory), { ...marks, record: last });
};

test("repair joins two logs of which the older lost its end", async () => {
  const at = marks.record + 1_000;
  await writeLogs([record(at + 1, at), record(at + 2)], [record(at + 5), record(at + 6)], at + 6);
  expect(examineStore(directory)).toMatchObject([{ kind: "log", lost: "the last 2 records of rate limit counts" }]);
  expect(repairStore(directory, systemClock)).toHaveLength(1);
  expect(examineStore(directory)).toEqual([]);
  expect((await readdir(directory)).filter((name) => name.includes("damaged"))).toHaveLength(2);
  await start();
});

test("repair mends both logs, and keeps what was in the one that cannot be read", async () => {
  const [a, b] = filesIn(directory).logs;
  const at = marks.record + 1_000;
  await writeLogs([], [record(at + 1, at)], at + 1);
  await truncate(a, 0);
  const garbage = Buffer.alloc(300, 0xa5);
  await writeFile(b, garbage);
  expect(repairStore(directory, systemClock).length).toBeGreaterThan(1);
  const kept = await Promise.all((await readdir(directory)).map((name) => readFile(join(directory, name))));
  expect(kept.some((bytes) => bytes.equals(garbage))).toBe(true);
  await start();
  expect(examineStore(directory)).toEqual([]);
});

test("repair makes both logs anew when both were deleted", async () => {
  for (const log of filesIn(directory).logs) await rm(log);
  expect(repairStore(directory, systemClock).length).toBeGreaterThan(1);
  expect(examineStore(directory)).toEqual([]);
  expect(await readdir(directory)).toEqual(expect.arrayContaining(["counters-a.log", "counters-b.log"]));
  await start();
});
