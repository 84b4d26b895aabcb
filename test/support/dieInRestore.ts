import { expect } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { checkBackup } from "../../src/operations/backup/checkBackup.ts";
import { type RestoreOptions, restoreBackup } from "../../src/operations/backup/restoreBackup.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";

/** Leaves a store as a restore does that is killed after a few writes. Closes it. */
export const dieInRestore = async (store: Store, file: string, options?: RestoreOptions): Promise<void> => {
  let writes = 0;
  const mortal = interceptStore(store, async (operation, { kind }) => {
    if (kind === "write" && ++writes > 4) throw new StoreUnavailableError("the process died");
    return operation();
  });
  await expect(restoreBackup(mortal, file, await checkBackup(file), options)).rejects.toThrow("the process died");
  await store.close();
};
