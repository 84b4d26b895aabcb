import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../../bench/harness/commandLine.ts";
import { createFirstRootKey } from "../../../src/cli/firstStart.ts";
import { systemClock } from "../../../src/domain/clock.ts";
import { openEmbeddedStore } from "../../../src/storage/embedded/openEmbeddedStore.ts";
import { filesIn } from "../../../src/storage/embedded/storeFiles.ts";
import type { Store } from "../../../src/storage/port/store.ts";
import { chargeWindow } from "../../support/chargeWindow.ts";
import { sized } from "../../support/sized.ts";
import { sampleKey } from "../contract/samples.ts";
import { withServerStore } from "./withServerStore.ts";

/** Many stores are opened here, and each would wait for the disk several times. */
const MEMORY = "/dev/shm";
const KEYS = 200;
const COUNTERS = 40;
const GARBAGE = 16;

let parent: string;
type Ending = "after a crash" | "after a stop";
const endings: readonly Ending[] = ["after a crash", "after a stop"];
const image = (store: "own" | "other", ending: Ending): string => join(parent, `${store} ${ending}`);
const backups = (): string => join(parent, "backups");

const work = async (name: "own" | "other"): Promise<void> => {
  const directory = join(parent, name);
  await withServerStore(directory, async (store) => {
    await createFirstRootKey(store, directory);
    const keys = Array.from({ length: KEYS }, (_, i) =>
      sampleKey({ _id: `key_${name}_${i}`, hash: `${name}_${i}`, meta: `"${"x".repeat(900)}"` }),
    );
    await store.collection("keys").insertMany(keys);
    for (let i = 0; i < COUNTERS; i++) await chargeWindow(store.counters, `counter ${i}`, 5, 100, 2);
    await cp(directory, image(name, "after a crash"), { recursive: true });
  });
  await cp(directory, image(name, "after a stop"), { recursive: true });
};

beforeAll(async () => {
  parent = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "latchkey-damage-"));
  await work("own");
  await work("other");
  await mkdir(backups());
  const env = { DATA_DIR: join(parent, "own") };
  await runCommand(["backup", join(backups(), "older.backup")], env);
  await withServerStore(env.DATA_DIR, (store) => store.collection("keys").insertOne(sampleKey({ _id: "key_newest", hash: "newest" })));
  await runCommand(["backup", join(backups(), "newer.backup")], env);
  await writeFile(join(backups(), "notes.backup"), "something else");
});
afterAll(() => rm(parent, { recursive: true }));

const copyOf = async (from: string): Promise<string> => {
  const directory = await mkdtemp(join(parent, "case-"));
  await cp(from, directory, { recursive: true });
  return directory;
};

const overwrite = async (file: string, at: (size: number) => number): Promise<void> => {
  const { size } = await stat(file);
  if (size < GARBAGE) return writeFile(file, Buffer.alloc(GARBAGE, 0xa5));
  const handle = await open(file, "r+");
  await handle.write(Buffer.alloc(GARBAGE, 0xa5), 0, GARBAGE, at(size));
  await handle.close();
};

const damages: Readonly<Record<string, (file: string, ending: Ending) => Promise<void>>> = {
  deleted: (file) => rm(file),
  emptied: (file) => truncate(file, 0),
  "garbage at the start": (file) => overwrite(file, () => 0),
  "garbage in the middle": (file) => overwrite(file, (size) => Math.floor(size / 2)),
  "garbage at the end": (file) => overwrite(file, (size) => size - GARBAGE),
  truncated: async (file) => truncate(file, Math.floor((await stat(file)).size / 2)),
  "from another store": (file, ending) => cp(join(image("other", ending), basename(file)), file),
};

interface Started {
  readonly keys: number;
  readonly rootKeys: number;
  /** Counts of rate limits. */
  readonly counted: number;
  readonly warnings: readonly string[];
}

/** What a start finds. Rejects where there is none. */
const start = async (directory: string): Promise<Started> => {
  const warnings: string[] = [];
  const contents = await withServerStore(
    directory,
    async (store: Store) => {
      const counts = await Promise.all(Array.from({ length: COUNTERS }, async (_, i) => store.counters.read(`counter ${i}`)));
      await chargeWindow(store.counters, "counter of a new window", 6, 9, 1);
      return {
        keys: (await store.collection("keys").find({}).toArray()).length,
        rootKeys: (await store.collection("rootKeys").find({}).toArray()).length,
        counted: counts.reduce((sum, counter) => sum + (counter?.current ?? 0), 0),
      };
    },
    { info: () => undefined, warn: (_, message) => void warnings.push(message) },
  );
  return { ...contents, warnings };
};

const WHOLE = { keys: KEYS, rootKeys: 1, counted: 2 * COUNTERS } as const;
const REMADE = "the file of rate limit counters was made again: in windows that still run, limits may be used once more";

describe("[data §1] a file next to the state file", () => {
  const derived = ["counters.sqlite", "counters.sqlite-wal", "counters.sqlite-shm", "latchkey.sqlite-shm", "latchkey.lock", "root-key"];

  for (const ending of endings) {
    for (const [damage, inflict] of Object.entries(damages)) {
      test(`that is ${damage} ${ending} costs no key and no start`, async () => {
        for (const name of derived) {
          const directory = await copyOf(image("own", ending));
          const file = join(directory, name);
          if (!existsSync(file)) continue;
          await inflict(file, ending);
          const started = await start(directory);
          const where = `${name} ${damage}`;
          expect({ keys: started.keys, rootKeys: started.rootKeys, where }).toEqual({ keys: KEYS, rootKeys: 1, where });
          expect(started.warnings.length, where).toBeLessThanOrEqual(1);
          if (!name.startsWith("counters") || name.endsWith("-shm")) expect([where, started.counted]).toEqual([where, WHOLE.counted]);
          // A log that is lost cannot be told from one that was folded into its database.
          if (started.counted === 0 && name === "counters.sqlite") expect([where, started.warnings]).toEqual([where, [REMADE]]);
          expect(await start(directory)).toEqual({ ...started, warnings: [] });
        }
      });
    }
  }

  test("that is missing or of no use is made again with one warning", async () => {
    const cases: readonly (readonly [string, (file: string) => Promise<unknown>, string])[] = [
      ["counters.sqlite", (file) => rm(file), REMADE],
      ["counters.sqlite", (file) => writeFile(file, "something else".repeat(1_000)), REMADE],
      ["counters.sqlite", (file) => rm(file).then(() => mkdir(join(file, "and more"), { recursive: true })), REMADE],
      ["latchkey.lock", (file) => writeFile(file, "something else"), "the lock file held something and was emptied"],
    ];
    for (const [name, inflict, warning] of cases) {
      const directory = await copyOf(image("own", "after a stop"));
      await inflict(join(directory, name));
      expect(await start(directory)).toMatchObject({ keys: KEYS, warnings: [warning] });
      expect((await start(directory)).warnings).toEqual([]);
    }
  });

  test("may have any byte flipped", async () => {
    const { size } = await stat(join(image("own", "after a stop"), "counters.sqlite"));
    const step = Math.ceil(size / sized(40, 2_000));
    for (let at = 0; at < size; at += step) {
      const directory = await copyOf(image("own", "after a stop"));
      const file = join(directory, "counters.sqlite");
      const bytes = await readFile(file);
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
      await writeFile(file, bytes);
      const { keys, rootKeys, warnings } = await start(directory);
      expect({ at, keys, rootKeys }).toEqual({ at, keys: KEYS, rootKeys: 1 });
      expect(warnings.length).toBeLessThanOrEqual(1);
      await rm(directory, { recursive: true });
    }
  });

  test("of version 0.11 that is no longer used is removed, whatever it holds", async () => {
    const directory = await copyOf(image("own", "after a stop"));
    for (const name of ["latchkey.marks", "counters-a.log", "counters-b.log"]) await writeFile(join(directory, name), "something else");
    expect(await start(directory)).toEqual({ ...WHOLE, warnings: [] });
    expect((await readdir(directory)).sort()).toEqual(["counters.sqlite", "latchkey.lock", "latchkey.sqlite", "root-key"]);
  });
});

describe("a state file that is damaged", () => {
  /** The digests of all files but those that SQLite makes whenever it looks. */
  const bytesIn = async (directory: string): Promise<Readonly<Record<string, string>>> => {
    const names = (await readdir(directory)).filter((name) => !/-(shm|wal)$|\.lock$/.test(name));
    const digests = names.map(async (name) => [
      name,
      createHash("sha256")
        .update(await readFile(join(directory, name)))
        .digest("hex"),
    ]);
    return Object.fromEntries(await Promise.all(digests)) as Record<string, string>;
  };
  const damaged = async (damage: string): Promise<string> => {
    const directory = await copyOf(image("own", "after a stop"));
    await damages[damage]?.(filesIn(directory).database, "after a stop");
    return directory;
  };
  const unusable = ["deleted", "emptied", "garbage at the start", "truncated"];
  const partly = ["garbage in the middle", "garbage at the end"];

  test.each(unusable)(
    "(%s) fails the start with one sentence that names the file, doctor and repair, and changes nothing",
    async (damage) => {
      const directory = await damaged(damage);
      const before = await bytesIn(directory);
      for (const mode of ["server", "tool"] as const) {
        const store = openEmbeddedStore({ directory, clock: systemClock, mode });
        await expect(store.prepare()).rejects.toMatchObject({
          name: "StoreDamagedError",
          message: expect.stringMatching(
            /latchkey\.sqlite is [^:]+: run "latchkey doctor" to check all of it, "latchkey repair" to restore a backup$/,
          ),
        });
        await store.close();
      }
      expect(await bytesIn(directory)).toEqual(before);
    },
  );

  test.each([...unusable, ...partly])(
    "(%s) is named by doctor and replaced by the newest backup once the repair is confirmed",
    async (damage) => {
      const directory = await damaged(damage);
      const { database } = filesIn(directory);
      const env = { DATA_DIR: directory, ANALYTICS: "off" };
      const doctor = await runCommand(["doctor"], env);
      expect(doctor).toMatchObject({ code: 1 });
      expect(doctor.printed.filter((line) => line.startsWith("FAIL"))).toEqual([
        expect.stringMatching(
          new RegExp(`^FAIL  store: ${database} is .*: stop the service and run "latchkey repair" to restore a backup$`),
        ),
      ]);

      const before = await bytesIn(directory);
      const missing = await runCommand(["repair", "--yes"], env);
      expect(missing).toMatchObject({
        code: 1,
        complained: [expect.stringContaining(`no backup was found in ${join(directory, "backups")}, so nothing was changed`)],
      });
      const unasked = await runCommand(["repair", backups()], env);
      expect(unasked).toMatchObject({ code: 2, complained: [expect.stringContaining("add --yes")] });
      const refused = await runCommand(["repair", backups()], env, { typed: ["n"] });
      expect(refused).toMatchObject({ code: 2 });
      expect(await bytesIn(directory)).toEqual(before);

      const repaired = await runCommand(["repair", backups()], env, { typed: ["y"] });
      expect(repaired).toMatchObject({
        code: 0,
        complained: [expect.stringContaining(`Restore ${join(backups(), "newer.backup")}, taken `)],
      });
      expect(repaired.printed.at(-1)).toContain("restored and compared");
      if (existsSync(`${database}`) && damage !== "deleted") {
        const kept = Object.entries(await bytesIn(directory)).filter(([name]) => name.startsWith("latchkey.sqlite.damaged-"));
        expect(kept.map(([, digest]) => digest)).toEqual([before["latchkey.sqlite"]]);
      }
      expect(await start(directory)).toEqual({ keys: KEYS + 1, rootKeys: 1, counted: WHOLE.counted, warnings: [] });
      expect((await runCommand(["doctor"], env)).code).toBe(0);
      expect((await runCommand(["repair"], env)).printed).toEqual([`Nothing is damaged in ${directory}.`]);
    },
  );

  test("is replaced by the backup that is named, without a question where the command says yes", async () => {
    const directory = await damaged("truncated");
    const repaired = await runCommand(["repair", join(backups(), "older.backup"), "--yes"], { DATA_DIR: directory });
    expect(repaired).toMatchObject({ code: 0, complained: [] });
    expect(await start(directory)).toMatchObject({ keys: KEYS });
  });

  test("is not repaired while a service uses it", async () => {
    const directory = await copyOf(image("own", "after a stop"));
    await withServerStore(directory, async () => {
      const repair = await runCommand(["repair", backups(), "--yes"], { DATA_DIR: directory });
      expect(repair).toMatchObject({ code: 1, complained: [expect.stringContaining("another server uses the data directory")] });
    });
  });
});
