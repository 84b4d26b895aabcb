import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Clock } from "../platform/base/clock.ts";
import { createAnnouncementFeed } from "../platform/cache/announcementFeed.ts";
import { createInvalidations } from "../platform/cache/invalidations.ts";
import { type Config, withoutCredentials } from "../platform/config/loadConfig.ts";
import { announceWrites } from "../platform/storage/decorators/announceWrites.ts";
import { filesIn } from "../platform/storage/embedded/storeFiles.ts";
import { type OpenStoreOptions, openStore } from "../platform/storage/openStore.ts";
import type { Store } from "../platform/storage/port/store.ts";
import { createChangesRepository } from "../platform/storage/repositories/changesRepository.ts";
import type { CommandContext, ExitCode } from "./command.ts";
import { readConfig } from "./readConfig.ts";

/** Where the configured store is, for people. */
export const describeStore = ({ mongodbUrl, dataDir }: Pick<Config, "mongodbUrl" | "dataDir">): string =>
  mongodbUrl === undefined ? `embedded store in ${resolve(dataDir)}` : `MongoDB at ${withoutCredentials(mongodbUrl)}`;

/** Whether the configured store is there, also by half, as far as can be seen without opening it: a database is made by whoever connects. */
export const storeExists = ({ mongodbUrl, dataDir }: Pick<Config, "mongodbUrl" | "dataDir">): boolean => {
  const { database, counters, rootKey } = filesIn(dataDir);
  return mongodbUrl !== undefined || [database, counters, rootKey].some((file) => existsSync(file));
};

/** Throws where the configured store is missing. */
export const requireStore = (config: Pick<Config, "mongodbUrl" | "dataDir">): void => {
  if (storeExists(config)) return;
  throw new Error(`there is no store in ${resolve(config.dataDir)}: set DATA_DIR or MONGODB_URL to where it is, as for the service`);
};

/** Whether a command may be the one that makes the store. Most have nothing to do with an empty one. */
export type OnMissing = "refuse" | "create";

/** Opens the configured store for the time of `use`, also while a server uses it. Rejects when it is missing, unless told. */
export const withStore = async <T>(
  config: Pick<Config, "mongodbUrl" | "dataDir"> & Pick<OpenStoreOptions, "limitsFor">,
  clock: Clock,
  use: (store: Store) => Promise<T>,
  onMissing: OnMissing = "refuse",
): Promise<T> => {
  if (onMissing === "refuse") requireStore(config);
  const store = await openStore({ ...config, clock, mode: "tool" });
  try {
    await store.prepare();
    return await use(store);
  } finally {
    await store.close();
  }
};

/** The same for commands that change something: running servers hear of what `use` writes. */
export const withAnnouncingStore = (
  { env, clock }: Pick<CommandContext, "env" | "clock">,
  use: (store: Store) => Promise<void>,
  onMissing?: OnMissing,
): Promise<ExitCode> =>
  withStore(
    readConfig(env),
    clock,
    async (store): Promise<ExitCode> => {
      const { clock: time } = store;
      const feed = createAnnouncementFeed({
        clock: time,
        invalidations: createInvalidations(time),
        changes: createChangesRepository(store),
        durable: true,
      });
      try {
        await use(announceWrites(store, feed, time));
        return 0;
      } finally {
        await feed.stop();
      }
    },
    onMissing,
  );
