import { systemClock } from "../../src/platform/base/clock.ts";
import { openStore } from "../../src/platform/storage/openStore.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { runLatchkeyHere } from "./commandLine.ts";
import { type ServiceProcess, startService } from "./latchkeyProcess.ts";

type Settings = Readonly<Record<string, string>>;

/** Opens the store of a `Place` for the time of `use`, also beside a service. */
export const withStoreOf = async <T>(env: Settings, use: (store: Store) => Promise<T>): Promise<T> => {
  const { MONGODB_URL: mongodbUrl, DATA_DIR: dataDir = "" } = env;
  const store = await openStore({ mongodbUrl, dataDir, clock: systemClock, mode: "tool" });
  try {
    await store.prepare();
    return await use(store);
  } finally {
    await store.close();
  }
};

/** Starts a service on a `Place` in a process of its own. */
export const startServiceOn = (env: Settings): Promise<ServiceProcess> => {
  const { DATA_DIR: dataDir, ...others } = env;
  return startService({ env: others, ...(dataDir === undefined ? {} : { dataDir }) });
};

/** Makes a root key that may do everything, by the command line. */
export const createRootKeyOn = async (env: Settings): Promise<string> => {
  const { code, stdout, stderr } = await runLatchkeyHere(["root-key", "create", "--name", "test"], env);
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
};
