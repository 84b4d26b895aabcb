import { describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { checkBackup } from "../../src/operations/backup/checkBackup.ts";
import { createPatiently } from "../../src/operations/backup/patiently.ts";
import { restoreBackup } from "../../src/operations/backup/restoreBackup.ts";
import { readStore } from "../../src/operations/backup/storeSource.ts";
import { createTally } from "../../src/operations/backup/tally.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { StoreNotMigratedError } from "../../src/platform/storage/schemaVersion.ts";
import { sharedBackup } from "../support/sampleBackup.ts";
import { places } from "../support/storePlaces.ts";

const away = () => new StoreUnavailableError("the store is away", { outcomeUnknown: true });

/** From the first write on, each operation fails twice on each collection before it works: once without effect, once after its effect. */
const unreliable = (store: Store): Store => {
  const failures = new Map<string, number>();
  return interceptStore(store, async (operation, { kind, name, collection }) => {
    if (kind === "read" && failures.size === 0) return operation();
    const what = `${name} ${collection}`;
    const failed = failures.get(what) ?? 0;
    failures.set(what, failed + 1);
    if (failed === 1) await operation();
    if (failed < 2) throw away();
    return operation();
  });
};

/** Attempts without the pauses, which it keeps. */
const hastily = (store: Store) => {
  const pauses: number[] = [];
  const onPause = (_: Error, seconds: number): void => void pauses.push(seconds);
  return { pauses, patiently: createPatiently(store, { onPause, wait: async () => undefined }) };
};

describe.each(places)("on %s", (_, make) => {
  const backup = sharedBackup(make);

  test("[data §1] a restore continues after an outage of the store, or after a lost answer", async () => {
    const { file } = backup();
    const checked = await checkBackup(file);
    const store = await (await make()).open("restore");
    const { patiently, pauses } = hastily(store);
    expect(await restoreBackup(unreliable(store), file, checked, { patiently })).toMatchObject({ resumedAt: undefined });
    expect(pauses.length).toBeGreaterThan(3);
    const tally = createTally();
    for await (const batch of readStore(store)) tally.add(batch);
    expect(tally.result().keys).toEqual(checked.end.tallies.keys);
  });

  test("[data §1] a restore continues when the store applies an earlier request after its repetition", async () => {
    const { file } = backup();
    const checked = await checkBackup(file);
    const store = await (await make()).open("restore");
    let late: (() => Promise<unknown>) | undefined;
    let isDone = false;
    const delayed = interceptStore(store, async (operation, { kind, name, collection }) => {
      if (collection === "keys" && name === "insertMany" && late === undefined) {
        late = operation;
        throw away();
      }
      const result = await operation();
      if (collection === "keys" && kind === "read" && late !== undefined && !isDone) {
        isDone = true;
        await late();
      }
      return result;
    });
    await restoreBackup(delayed, file, checked, { patiently: hastily(store).patiently });
    expect(isDone).toBe(true);
    const tally = createTally();
    for await (const batch of readStore(store)) tally.add(batch);
    expect(tally.result().keys).toEqual(checked.end.tallies.keys);
  });
});

test("[data §1] after five minutes of attempts the store is given up, other failures at once", async () => {
  const store = { ping: async () => undefined };
  const { patiently, pauses } = hastily(store as Store);
  await expect(patiently(() => Promise.reject(away()))).rejects.toThrow("the store is away");
  expect(pauses.reduce((sum, seconds) => sum + seconds, 0)).toBeGreaterThan(300);
  const given = pauses.length;
  for (const error of [new Error("a bug"), new StoreNotMigratedError(1, [])]) {
    await expect(patiently(() => Promise.reject(error))).rejects.toBe(error);
  }
  expect(pauses).toHaveLength(given);
});
