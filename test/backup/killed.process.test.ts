import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { runLatchkeyHere } from "../../bench/harness/commandLine.ts";
import { runLatchkey, spawnLatchkey } from "../../bench/harness/latchkeyProcess.ts";
import { checkBackup, differencesBetween } from "../../src/operations/backup/checkBackup.ts";
import { restoreBackup } from "../../src/operations/backup/restoreBackup.ts";
import { storeSource } from "../../src/operations/backup/storeSource.ts";
import { writeBackup } from "../../src/operations/backup/writeBackup.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { SCHEMA_VERSION } from "../../src/platform/storage/port/baseDocument.ts";
import { sized } from "../support/sized.ts";
import { embeddedPlace, freshDirectory, places, type StorePlace } from "../support/storePlaces.ts";

const KILLS = sized(1, 10);
const DOCUMENTS = sized(4_000, 20_000);
/** Beside other load each start of a command takes seconds. */
const TIMEOUT = { timeout: 900_000 };

/** A store that takes a command a while, in a backup. */
const largeBackup = async (): Promise<string> => {
  const { facts } = await storeSource(await (await embeddedPlace()).open("tool"), "the test");
  const file = join(await freshDirectory(), "large.backup");
  const base = { v: SCHEMA_VERSION, workspaceId: "ws_default", createdAt: 1, description: "x".repeat(200) };
  const read = function* () {
    for (let from = 0; from < DOCUMENTS; from += 500) {
      const ids = Array.from({ length: 500 }, (_, i) => `perm_${String(from + i).padStart(8, "0")}`);
      yield { collection: "permissions", texts: ids.map((_id) => JSON.stringify({ ...base, _id, slugKey: _id })) } as const;
    }
  };
  await writeBackup({ facts, size: DOCUMENTS, read }, file, { product: "test", now: systemClock.now() });
  return file;
};

const seconds = async (work: Promise<unknown>): Promise<number> => {
  const startedAt = systemClock.monotonic();
  await work;
  return (systemClock.monotonic() - startedAt) / 1_000;
};

interface Attempt {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Kills a command at random moments of its run. A command that ends before the first kill is started again on another
 * target, because a finished run cannot be cut short.
 * @returns the attempt that was cut short
 */
const killed = async <A extends Attempt>(begin: () => Promise<A>, lasts: number): Promise<A> => {
  let attempt = await begin();
  let within = lasts;
  for (let kills = 0, cutShort = 0; kills < KILLS || cutShort === 0; kills++) {
    const child = spawnLatchkey(attempt.args, attempt.env);
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    await sleep(1_000 * within * Math.random());
    child.kill("SIGKILL");
    if ((await ended) === null) cutShort++;
    else if (cutShort === 0) {
      attempt = await begin();
      // Beside less other load it takes less time than it did.
      within /= 2;
    }
  }
  return attempt;
};

/** Compares the contents of a place with a file, by a second backup. */
const expectSame = async (place: StorePlace, file: string): Promise<void> => {
  const copy = join(await freshDirectory(), "copy.backup");
  expect(await runLatchkeyHere(["backup", copy], place.env)).toMatchObject({ code: 0 });
  const [one, another] = [await checkBackup(file), await checkBackup(copy)];
  expect(differencesBetween(one.end.tallies, another.end.tallies)).toEqual([]);
};

test.each(places)(
  "[data §1] on %s, backup, restore and import that are killed at any moment and repeated come to the same end",
  TIMEOUT,
  async (_, make) => {
    const file = await largeBackup();
    const whole = await make();
    const lasts = await seconds(runLatchkey(["restore", file], whole.env));
    const { target } = await killed(async () => {
      const target = await make();
      return { target, args: ["restore", file], env: target.env };
    }, lasts);
    const restored = await runLatchkeyHere(["restore", file], target.env);
    // The last that was killed may have been done.
    if (restored.code !== 0) expect(restored.stderr).toContain("the store is not empty");
    await expectSame(target, file);

    const { copy } = await killed(async () => {
      const copy = join(await freshDirectory(), "copy.backup");
      return { copy, args: ["backup", copy], env: whole.env };
    }, lasts / 2);
    const taken = await runLatchkeyHere(["backup", copy], whole.env);
    if (taken.code !== 0) expect(taken.stderr).toContain("exists already");
    expect(existsSync(`${copy}.part`)).toBe(false);
    expect((await checkBackup(copy)).end.tallies).toEqual((await checkBackup(file)).end.tallies);

    const from = await embeddedPlace();
    const source = await from.open("restore");
    await restoreBackup(source, file, await checkBackup(file));
    await source.close();
    const { imported, args } = await killed(async () => {
      const imported = await make();
      const between = join(await freshDirectory(), "import.backup");
      return { imported, args: ["import", "--from-data-dir", from.env.DATA_DIR, "--file", between], env: imported.env };
    }, 1.5 * lasts);
    const done = await runLatchkeyHere(args, imported.env);
    if (done.code !== 0) expect(done.stderr).toContain("the store is not empty");
    await expectSame(imported, file);
  },
);
