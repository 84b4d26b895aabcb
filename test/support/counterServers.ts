import { describe } from "vitest";
import { counterServerProgram } from "../../bench/harness/counterServers.ts";
import { parseCounterServerUrl } from "../../src/platform/secrets/counterServerAddress.ts";
import type { CounterServer } from "../../src/platform/storage/port/counterServer.ts";
import { type CounterServerOptions, openCounterServer } from "../../src/platform/storage/valkey/openCounterServer.ts";

const isMissing = counterServerProgram() === undefined;
if (isMissing) console.warn("no valkey-server or redis-server on the path: tests of the counter server are left out");

/** A suite that starts counter servers: left out where none is installed, but for a run of CI, which fails. */
export const describeOnCounterServer: typeof describe.skip = describe.skipIf(isMissing && process.env.CI !== "true");

/** The server at a URL, connected. */
export const connectCounterServer = async (
  url: string,
  options: Partial<CounterServerOptions> = {},
): Promise<CounterServer & AsyncDisposable> => {
  const address = parseCounterServerUrl(url);
  if (address === undefined) throw new Error(`${url} is no URL of a counter server`);
  const server = openCounterServer({ address, tls: undefined, ...options });
  await server.prepare();
  return { ...server, [Symbol.asyncDispose]: server.close };
};
