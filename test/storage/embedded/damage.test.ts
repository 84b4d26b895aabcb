import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../../../bench/harness/commandLine.ts";
import { createFirstRootKey } from "../../../src/cli/firstStart.ts";
import { systemClock } from "../../../src/domain/clock.ts";
import { decodeRecords, encodeRecord, readHead } from "../../../src/storage/embedded/counters/logRecords.ts";
import { lookAtDatabase } from "../../../src/storage/embedded/damage/evidence.ts";
import { examineStore } from "../../../src/storage/embedded/damage/repairStore.ts";
import { readMarks } from "../../../src/storage/embedded/marks.ts";
import { openEmbeddedStore } from "../../../src/storage/embedded/openEmbeddedStore.ts";
import type { Store } from "../../../src/storage/port/store.ts";
import { eventually } from "../../support/eventually.ts";
import { sized } from "../../support/sized.ts";
import { sampleKey } from "../contract/samples.ts";
import { withServerStore } from "./withServerStore.ts";

/** What the table must look like; `LATCHKEY_WRITE_TABLE=1` writes it anew. */
const tableFile = join(import.meta.dirname, "damageTable.txt");

/** A hundred stores are opened here, and each would wait for the disk several times. */
const MEMORY = "/dev/shm";

const LATER = new Date(8_000_000_000_000);
const KEYS = 200;
const COUNTERS = 40;
const GARBAGE = 16;

let parent: string;
type Ending = "after a crash" | "after a stop" | "after a crash while it was tidied";
/** `other` is of another store. */
const image = (day: "today" | "yesterday" | "other", ending: Ending): string => join(parent, `${day} ${ending}`);

/** A day's work, and images of what a crash at its end leaves, and of what a stop does. */
const work = async (directory: string, day: string, image: string): Promise<void> => {
  await withServerStore(directory, async (store) => {
    await createFirstRootKey(store, directory);
    const keys = Array.from({ length: KEYS }, (_, i) =>
      sampleKey({ _id: `key_${day}_${i}`, hash: `${day}_${i}`, meta: `"${"x".repeat(900)}"` }),
    );
    await store.collection("keys").insertMany(keys);
    const counters = store.counters;
    for (let i = 0; i < COUNTERS; i++) {
      const key = `counter ${i}`;
      if ((await counters.charge(key, 5, 100, 1)) === null) await counters.open(key, 5, 100, 1, LATER);
    }
    // What a mark says comes a little later than what it is about.
    const marks = join(directory, "latchkey.marks");
    const before = readMarks(marks);
    await counters.charge("counter 0", 5, 100, 0);
    await eventually(() => expect(readMarks(marks)).not.toEqual(before));
    await cp(directory, join(parent, `${image} after a crash`), { recursive: true });
  });
  await cp(directory, join(parent, `${image} after a stop`), { recursive: true });
};

/** Both logs have records then: those of the second one come after those of the first. */
const tidyHalfway = async (from: string, to: string): Promise<void> => {
  await cp(from, to, { recursive: true });
  const logs = ["counters-a.log", "counters-b.log"].map((name) => join(to, name));
  const bytes = await Promise.all(logs.map((log) => readFile(log)));
  const records = bytes.flatMap((each) => [...decodeRecords(each, readHead(each)?.end ?? 0, {})]).toSorted((a, b) => a.number - b.number);
  const head = bytes[0]?.subarray(0, readHead(bytes[0])?.end) ?? Buffer.alloc(0);
  const half = Math.floor(records.length / 2);
  for (const [i, some] of [records.slice(0, half), records.slice(half)].entries()) {
    await writeFile(logs[i] as string, Buffer.concat([head, ...some.map(encodeRecord)]));
  }
};

beforeAll(async () => {
  parent = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "latchkey-damage-"));
  const directory = join(parent, "live");
  // A first start, whose end folds all into the database.
  const elsewhere = join(parent, "elsewhere");
  for (const each of [directory, elsewhere]) await withServerStore(each, (store) => createFirstRootKey(store, each));
  await work(directory, "first", "yesterday");
  await work(directory, "second", "today");
  await work(elsewhere, "other", "other");
  await tidyHalfway(image("today", "after a crash"), image("today", "after a crash while it was tidied"));
});
afterAll(() => rm(parent, { recursive: true }));

const overwrite = async (file: string, at: (size: number) => number): Promise<void> => {
  const { size } = await stat(file);
  if (size < GARBAGE) return writeFile(file, Buffer.alloc(GARBAGE, 0xa5));
  const handle = await open(file, "r+");
  await handle.write(Buffer.alloc(GARBAGE, 0xa5), 0, GARBAGE, at(size));
  await handle.close();
};

const damages: Readonly<Record<string, (file: string, name: string, ending: Ending) => Promise<void>>> = {
  deleted: (file) => rm(file),
  emptied: (file) => truncate(file, 0),
  "garbage at the start": (file) => overwrite(file, () => 0),
  "garbage in the middle": (file) => overwrite(file, (size) => Math.floor(size / 2)),
  "garbage at the end": (file) => overwrite(file, (size) => size - GARBAGE),
  truncated: async (file) => truncate(file, Math.floor((await stat(file)).size / 2)),
  "from another store": (file, name, ending) => cp(join(image("other", ending), name), file),
  "from yesterday's backup": (file, name, ending) => cp(join(image("yesterday", ending), name), file),
};

const writesTable = process.env.LATCHKEY_WRITE_TABLE === "1";
const all = Object.keys(damages);
/** One that leaves nothing, one that SQLite or a checksum finds, and one that only the files together show. */
const judged = writesTable ? all : sized(["deleted", "garbage in the middle", "from yesterday's backup"], all);

const files = [
  "latchkey.sqlite",
  "latchkey.sqlite-wal",
  "latchkey.sqlite-shm",
  "latchkey.marks",
  "latchkey.lock",
  "counters-a.log",
  "counters-b.log",
  "root-key",
];

/** What is in it, as its owner counts; undefined: what has to be read for that is damaged. */
interface Contents {
  readonly keys: number | undefined;
  readonly rootKeys: number | undefined;
  /** Sum of the counters. */
  readonly counted: number | undefined;
}
const whole: Contents = { keys: 2 * KEYS, rootKeys: 1, counted: 2 * COUNTERS };

const unlessDamaged = (count: Promise<number>): Promise<number | undefined> =>
  count.catch((error: unknown) => {
    expect(error).toMatchObject({ name: "StoreDamagedError" });
    return undefined;
  });

const contentsOf = async (store: Store): Promise<Contents> => {
  const counters = store.counters;
  const read = async (name: string): Promise<number> => (await counters.read(name))?.current ?? 0;
  const counts = Array.from({ length: COUNTERS }, (_, i) => read(`counter ${i}`));
  return {
    keys: await unlessDamaged(
      store
        .collection("keys")
        .find({})
        .toArray()
        .then(({ length }) => length),
    ),
    rootKeys: await unlessDamaged(
      store
        .collection("rootKeys")
        .find({})
        .toArray()
        .then(({ length }) => length),
    ),
    counted: await unlessDamaged(Promise.all(counts).then((all) => all.reduce((sum, count) => sum + count, 0))),
  };
};

/** What is there after a start, or why there was none. */
const start = async (directory: string): Promise<Contents | string> => {
  const store = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
  try {
    const refusal = await store.prepare().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    return refusal ?? (await contentsOf(store));
  } finally {
    await store.close();
  }
};

/** The digests of all files but those that SQLite makes anew whenever it looks. */
const bytesIn = async (directory: string): Promise<ReadonlyMap<string, string>> => {
  const names = (await readdir(directory)).filter((name) => !/-(shm|journal)$/.test(name));
  const all = await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name))] as const));
  return new Map(all.flatMap(([name, bytes]) => (bytes.length === 0 ? [] : [[name, createHash("sha256").update(bytes).digest("hex")]])));
};

/** For a table that is the same each time. */
const legible = (text: string, directory: string): string =>
  text
    .replaceAll(`${directory}/`, "")
    .replaceAll(directory, "DATA_DIR")
    .replaceAll(/\.damaged-\w+/g, ".damaged-…")
    .replaceAll(/\d[\d,]*/g, "N")
    .replaceAll("|", "/");

const shown = ({ keys, rootKeys, counted }: Contents): string =>
  keys === whole.keys && rootKeys === whole.rootKeys && counted === whole.counted
    ? "everything"
    : `${keys ?? "damaged"} of ${whole.keys} keys, ${rootKeys ?? "damaged"} of 1 root key, ${counted ?? "damaged"} of ${whole.counted} counts`;

const isStarted = (outcome: Contents | string): outcome is Contents => typeof outcome !== "string";

/** One row: nothing is lost without a word, the start changes nothing that it refuses, and the repair keeps what it replaces. */
const judge = async (file: string, damage: string, ending: Ending): Promise<string> => {
  const directory = await mkdtemp(join(parent, "case-"));
  await cp(image("today", ending), directory, { recursive: true });
  await damages[damage]?.(join(directory, file), file, ending);
  const damaged = await bytesIn(directory);

  const first = await start(directory);
  if (!isStarted(first)) {
    expect(await bytesIn(directory)).toEqual(damaged);
    expect(first).toContain(directory);
    expect(first).toContain("latchkey repair");
  }
  const doctor = await runCommand(["doctor"], { DATA_DIR: directory, ANALYTICS: "off" });
  const complaints = doctor.printed.filter((line) => line.startsWith("FAIL"));
  expect(doctor.code).toBe(complaints.length === 0 ? 0 : 1);
  const outcome = isStarted(first) ? shown(first) : first;
  if (outcome !== "everything") expect(complaints, `${file} ${damage}: ${outcome}`).not.toEqual([]);

  const repair = await runCommand(["repair"], { DATA_DIR: directory });
  expect(repair).toMatchObject({ code: 0, complained: [] });
  if (!isStarted(first)) {
    const kept = new Set((await bytesIn(directory)).values());
    expect([...damaged].filter(([name, bytes]) => name.startsWith(file) && !kept.has(bytes))).toEqual([]);
  }
  const second = isStarted(first) && complaints.length === 0 ? first : await start(directory);
  if (!isStarted(second)) expect.unreachable(`${file} ${damage}: ${second}`);
  expect(examineStore(directory)).toEqual([]);

  const cells = [
    isStarted(first) ? `starts: ${shown(first)}` : legible(first, directory),
    complaints.map((line) => legible(line, directory)).join("<br>") ||
      (doctor.printed.some((line) => line.endsWith("is none of them")) ? "ok; the root key is none of the store's" : "ok"),
    repair.printed.map((line) => legible(line, directory)).join("<br>"),
    shown(second),
  ];
  return `| \`${file}\` ${ending} | ${damage} | ${cells.join(" | ")} |`;
};

test("[issue 15, 10] each file × each damage: what start, doctor and repair say, and what is left", async () => {
  const rows: string[] = [];
  for (const file of files) for (const damage of judged) rows.push(await judge(file, damage, "after a crash"));
  for (const damage of judged) rows.push(await judge("latchkey.sqlite", damage, "after a stop"));
  rows.push(await judge("counters-a.log", "truncated", "after a crash while it was tidied"));
  const head = ["| File | Damage | Start | `latchkey doctor` | `latchkey repair` | Left |", "|---|---|---|---|---|---|"];
  if (writesTable) await writeFile(tableFile, [...head, ...rows, ""].join("\n"));
  const table = (await readFile(tableFile, "utf8")).split("\n");
  const isLeftOut = (line: string): boolean => all.some((damage) => !judged.includes(damage) && line.split(" | ")[1] === damage);
  // The last damage, of a store that was being tidied, is judged whatever the others are.
  expect([...head, ...rows, ""]).toEqual(table.filter((line) => line.includes("while it was tidied") || !isLeftOut(line)));
});

test("what a crash left starts, and so does all of yesterday's backup", async () => {
  expect(await start(await copyOf(image("today", "after a crash")))).toEqual(whole);
  expect(await start(await copyOf(image("yesterday", "after a stop")))).toEqual({ keys: KEYS, rootKeys: 1, counted: COUNTERS });
});

const copyOf = async (image: string): Promise<string> => {
  const directory = await mkdtemp(join(parent, "copy-"));
  await cp(image, directory, { recursive: true });
  return directory;
};

test("the database counts what the marks say", () => {
  const directory = image("today", "after a crash");
  const marks = readMarks(join(directory, "latchkey.marks"));
  expect(lookAtDatabase(join(directory, "latchkey.sqlite"))).toMatchObject(
    marks === "damaged" ? {} : { store: marks.store, commits: marks.commits },
  );
});
