import { describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { type CheckedBackup, checkBackup } from "../../src/operations/backup/checkBackup.ts";
import { createPatiently } from "../../src/operations/backup/patiently.ts";
import { type RestoreOptions, restoreBackup } from "../../src/operations/backup/restoreBackup.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { sharedBackup } from "../support/sampleBackup.ts";
import { places } from "../support/storePlaces.ts";

const TAKEN_OVER = "a later restore of this backup into this store has taken over: wait for the end of that one";

describe.each(places)("on %s, of two restores of one backup into one store", (_, make) => {
  const backup = sharedBackup(make);

  interface Prepared {
    readonly store: Store;
    readonly file: string;
    readonly checked: CheckedBackup;
    /** The other restore, to its end, and then a service that deletes all keys but one. */
    readonly other: () => Promise<void>;
  }

  const prepare = async (): Promise<Prepared> => {
    const { file } = backup();
    const checked = await checkBackup(file);
    const store = await (await make()).open("restore");
    const other = async (): Promise<void> => {
      await restoreBackup(store, file, checked);
      const [kept] = await store
        .collection("keys")
        .find({}, { sort: { _id: 1 }, limit: 1 })
        .toArray();
      await store.collection("keys").deleteMany({ _id: { $gt: kept?._id ?? "" } });
    };
    return { store, file, checked, other };
  };

  /** Tries again at once. */
  const patientlyOf = (store: Store, onPause: () => Promise<void> = async () => {}): RestoreOptions => ({
    patiently: createPatiently(store, { onPause: () => {}, wait: onPause }),
  });

  const away = () => new StoreUnavailableError("cut off");

  test.each([1, 2, 3])(
    "[data §1] the later one ends it, and the other, cut off after %i writes, writes nothing any more",
    async (before) => {
      const { store, file, checked, other } = await prepare();
      let writes = 0;
      const cutOff = interceptStore(store, async (operation, { kind }) => {
        if (kind !== "write" || writes++ !== before) return operation();
        throw away();
      });
      await expect(restoreBackup(cutOff, file, checked, patientlyOf(store, other))).rejects.toThrow(TAKEN_OVER);
      expect(await store.collection("keys").find({}).toArray()).toHaveLength(1);
    },
  );

  test("[data §1] an overtaken restore reports that, not a duplicate", async () => {
    const { store, file, checked } = await prepare();
    const begun = Promise.withResolvers<void>();
    const overtaken = Promise.withResolvers<void>();
    let writes = 0;
    const slow = interceptStore(store, async (operation, { kind }) => {
      if (kind === "write" && writes++ === 2) {
        begun.resolve();
        await overtaken.promise;
      }
      return operation();
    });
    const first = restoreBackup(slow, file, checked);
    first.catch(() => {});
    await begun.promise;
    expect(await restoreBackup(store, file, checked)).toMatchObject({ resumedAt: 0 });
    overtaken.resolve();
    await expect(first).rejects.toThrow(TAKEN_OVER);
    expect(await store.collection("keys").find({}).toArray()).toHaveLength(1_200);
  });

  test('[data §1] a restore that compares while a service uses the other\'s result reports that, not "begin with an empty store"', async () => {
    const { store, file, checked, other } = await prepare();
    let isWritten = false;
    let isDone = false;
    const slow = interceptStore(store, async (operation, { kind, collection }) => {
      if (isWritten && !isDone && kind === "read" && collection === "keys") {
        isDone = true;
        await other();
      }
      return operation();
    });
    const onProgress: RestoreOptions["onProgress"] = (step) => {
      isWritten ||= step === "index";
    };
    await expect(restoreBackup(slow, file, checked, { onProgress })).rejects.toThrow(TAKEN_OVER);
    expect(isDone).toBe(true);
  });

  test("[data §1] one whose first write failed does not seize the store that the other restored meanwhile", async () => {
    const { store, file, checked, other } = await prepare();
    let isDone = false;
    const cutOff = interceptStore(store, async (operation, { kind }) => {
      if (isDone || kind !== "write") return operation();
      isDone = true;
      throw away();
    });
    await expect(restoreBackup(cutOff, file, checked, patientlyOf(store, other))).rejects.toThrow(
      /it holds \w+ \(a restore into it ended at/,
    );
    const schema = await store.collection("system").findOne({ _id: "schema" });
    expect(schema).not.toHaveProperty("restoring");
    expect(schema).not.toHaveProperty("restoringBy");
    expect(await store.collection("keys").find({}).toArray()).toHaveLength(1);
  });

  test("[data §1] one whose end is not known did end only if the store says so", async () => {
    const { store, file, checked } = await prepare();
    const system = store.collection("system");
    let isWritten = false;
    const unheard = (plain: Store): Store =>
      interceptStore(plain, async (operation, { kind, collection }) => {
        const result = await operation();
        if (!isWritten || kind !== "write" || collection !== "system") return result;
        isWritten = false;
        throw away();
      });
    const onProgress: RestoreOptions["onProgress"] = (step) => {
      isWritten ||= step === "compare";
    };
    // The last write was applied but its answer was lost. Then the store is emptied, or not.
    const emptied = patientlyOf(store, async () => void (await system.deleteOne({ _id: "schema" })));
    const lost = restoreBackup(unheard(store), file, checked, { ...emptied, onProgress });
    await expect(lost).rejects.toThrow("the store was emptied meanwhile");
    const another = await prepare();
    const restored = restoreBackup(unheard(another.store), another.file, another.checked, { ...patientlyOf(another.store), onProgress });
    await expect(restored).resolves.toMatchObject({ resumedAt: undefined });
  });
});
