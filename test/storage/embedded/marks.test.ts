import { chown, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../src/domain/clock.ts";
import { repairStore } from "../../../src/storage/embedded/damage/repairStore.ts";
import { createMarks, type Marks, openMark, readMarks, readSettled } from "../../../src/storage/embedded/marks.ts";
import { openEmbeddedStore } from "../../../src/storage/embedded/openEmbeddedStore.ts";
import { filesIn } from "../../../src/storage/embedded/storeFiles.ts";

const STORE = "0123456789abcdef0123456789abcdef";
const OWNER = 1000;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-marks-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("marks that two processes make at once are one file: what the first one writes to it reaches both", async () => {
  const files = filesIn(directory);
  createMarks(files, { store: STORE, commits: 1, record: 0 });
  const first = openMark(files.marks, "commits");
  createMarks(files, { store: STORE, commits: 1, record: 0 });
  first?.writeNow(STORE, 7);
  first?.close();
  expect(readMarks(files.marks)).toEqual({ store: STORE, commits: 7, record: 0 });
  expect(await readdir(directory)).toEqual(["latchkey.marks"]);
});

test("marks that are half written when they are read are read again; those that stay so are damaged", () => {
  const marks: Marks = { store: STORE, commits: 1, record: 0 };
  const answers = ["damaged", marks] as const;
  let reads = 0;
  expect(readSettled(() => answers[reads++] ?? "damaged")).toEqual(marks);
  expect(readSettled(() => "damaged")).toBe("damaged");
});

test.runIf(process.geteuid?.() === 0)("what root makes in a directory of the service belongs to the service", async () => {
  const files = filesIn(directory);
  const owners = async () => {
    const names = await readdir(directory);
    return Promise.all(
      names.filter((name) => !name.includes("damaged")).map(async (name) => [name, (await stat(join(directory, name))).uid]),
    );
  };
  const start = async (mode: "server" | "tool"): Promise<void> => {
    const store = openEmbeddedStore({ directory, clock: systemClock, mode });
    await store.prepare();
    await store.close();
  };
  await chown(directory, OWNER, OWNER);
  await start("tool");
  for (const [name, uid] of await owners()) expect([name, uid]).toEqual([name, OWNER]);
  await start("server");
  for (const name of await readdir(directory)) await chown(join(directory, name), OWNER, OWNER);
  for (const log of files.logs) await rm(log);
  await writeFile(files.database, Buffer.alloc(100, 0xa5), { flag: "r+" });
  await writeFile(files.marks, "");
  expect(repairStore(directory, systemClock)).not.toEqual([]);
  for (const [name, uid] of await owners()) expect([name, uid]).toEqual([name, OWNER]);
});

test.runIf(process.geteuid?.() === 0)("a data directory that root makes belongs to the owner of the one that it is in", async () => {
  await chown(directory, OWNER, OWNER);
  const made = join(directory, "new", "data");
  const store = openEmbeddedStore({ directory: made, clock: systemClock, mode: "restore" });
  await store.prepare();
  await store.close();
  for (const name of [join(directory, "new"), made, filesIn(made).database]) expect([name, (await stat(name)).uid]).toEqual([name, OWNER]);
});
