import { createRequire } from "node:module";

/** That the engine is missing, and what to do. */
export const engineMissing = "the optional package chdb (Linux on x64 with glibc) is not installed; run npm ci without --omit=optional";

/** Why a service that has to have the engine does not start without it. */
export const requiredEngineMissing: string = `ANALYTICS is embedded, but ${engineMissing}`;

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
