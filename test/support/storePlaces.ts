import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { openStore } from "../../src/platform/storage/openStore.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import type { StoreMode } from "../../src/platform/storage/port/storeMode.ts";
import { onEveryEngine } from "./onEveryEngine.ts";

/** A place for a store that is not there yet. */
export interface StorePlace {
  /** As settings name it. */
  readonly env: { readonly DATA_DIR: string; readonly MONGODB_URL?: string };
  /** A prepared store there, closed at the end at the latest. */
  readonly open: (mode: StoreMode) => Promise<Store>;
}

/** Takes what is to be done at the end: of the test, unless a place lives longer. */
export type AtEnd = (work: () => Promise<void>) => void;

/** A directory of its own, removed at the end. */
export const freshDirectory = async (atEnd: AtEnd = onTestFinished): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-directory-"));
  atEnd(() => rm(directory, { recursive: true, force: true }));
  return directory;
};

const placeAt = (mongodbUrl: string | undefined, dataDir: string, atEnd: AtEnd): StorePlace => ({
  env: { DATA_DIR: dataDir, ...(mongodbUrl !== undefined && { MONGODB_URL: mongodbUrl }) },
  open: async (mode) => {
    const store = await openStore({ mongodbUrl, dataDir, clock: systemClock, mode });
    atEnd(() => store.close());
    await store.prepare().catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
    return store;
  },
});

/** A new place, which lasts until the end of the test unless told otherwise. */
export type MakePlace = (atEnd?: AtEnd) => Promise<StorePlace>;

export const embeddedPlace: MakePlace = async (atEnd = onTestFinished) => placeAt(undefined, await freshDirectory(atEnd), atEnd);

/** Where a backup may go: each engine that can run here, by name. */
export const places: readonly (readonly [engine: string, make: MakePlace])[] = onEveryEngine<readonly [string, MakePlace]>(
  ["embedded", embeddedPlace],
  (server) => ["mongo", async (atEnd = onTestFinished) => placeAt(freshMongoUrl(server), await freshDirectory(atEnd), atEnd)],
);
