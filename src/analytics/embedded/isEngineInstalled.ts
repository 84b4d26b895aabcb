import { createRequire } from "node:module";

/** True when the library of the engine is installed for this platform: it is an optional dependency. */
export const isEngineInstalled = (): boolean => {
  try {
    const { resolve } = createRequire(import.meta.url);
    const platform = process.platform === "linux" ? `linux-${process.arch}-gnu` : `${process.platform}-${process.arch}`;
    createRequire(resolve("chdb")).resolve(`@chdb/lib-${platform}/package.json`);
    return true;
  } catch {
    return false;
  }
};
