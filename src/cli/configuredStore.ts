import { resolve } from "node:path";
import { type Config, withoutCredentials } from "../config.ts";
import type { Clock } from "../domain/clock.ts";
import { openStore } from "../storage/openStore.ts";
import type { Store } from "../storage/store.ts";

/** Where the configured store is, for people. */
export const describeStore = ({ mongodbUrl, dataDir }: Pick<Config, "mongodbUrl" | "dataDir">): string =>
  mongodbUrl === undefined ? `embedded store in ${resolve(dataDir)}` : `MongoDB at ${withoutCredentials(mongodbUrl)}`;

/** Opens the configured store for the time of `use`, also while a server uses it. */
export const withStore = async <T>(config: Config, clock: Clock, use: (store: Store) => Promise<T>): Promise<T> => {
  const store = await openStore({ ...config, clock, mode: "tool" });
  try {
    await store.prepare();
    return await use(store);
  } finally {
    await store.close();
  }
};
