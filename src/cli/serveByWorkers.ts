import type { Config } from "../config/loadConfig.ts";
import { systemClock } from "../domain/clock.ts";
import { prepareStore } from "../service/prepareStore.ts";
import type { WorkersFailure } from "../service/workers/superviseWorkers.ts";
import type { Events } from "../telemetry/events.ts";
import type { Log } from "../telemetry/log.ts";
import { CANNOT_START, type CommandContext, type ExitCode } from "./command.ts";
import { createFirstRootKey, type FirstRootKey } from "./firstStart.ts";
import { greet, nextSteps } from "./greeting.ts";

/** The embedded store, if it is the one, which this process opens for its workers; with the root key of a first start. */
const openOwned = async (config: Config, log: Log, events: Events) => {
  if (config.mongodbUrl !== undefined) return undefined;
  const { openEmbeddedStore } = await import("../storage/embedded/openEmbeddedStore.ts");
  const store = openEmbeddedStore({ directory: config.dataDir, clock: systemClock, mode: "server", log });
  let first: FirstRootKey | undefined;
  return {
    store,
    prepare: async (signal: AbortSignal) => {
      await prepareStore(store, events, signal);
      first = await createFirstRootKey(store, config.dataDir);
      if (first) events.firstRootKeyCreated(first);
      events.storeOpened({ engine: store.engine, ...store.facts?.() });
    },
    nextSteps: (url: string) => nextSteps(store, config, url, first),
  };
};

/** Runs a service of several processes until it is told to stop, be it during the start. This process starts them, and serves the admin port. */
export const serveByWorkers = async (config: Config, log: Log, events: Events, context: CommandContext): Promise<ExitCode> => {
  const { superviseWorkers } = await import("../service/workers/superviseWorkers.ts");
  const owned = await openOwned(config, log, events);
  const workers = superviseWorkers({ config, clock: context.clock, events, writeLog: context.writeLog, owned });
  const endWith = async ({ lines, exitCode }: WorkersFailure): Promise<ExitCode> => {
    for (const line of lines) await context.complain(line);
    return exitCode as ExitCode;
  };
  const stopped = context.untilStopped().then(async (reason): Promise<ExitCode> => {
    events.serviceStopping(reason);
    const badEnd = await workers.stop(reason);
    events.serviceStopped();
    return badEnd === undefined ? 0 : endWith(badEnd);
  });
  const failed = workers.failed.then(async (failure): Promise<ExitCode> => {
    await workers.stop(CANNOT_START);
    return endWith(failure);
  });
  context.onReload(workers.reload);
  const serving = workers.start().then(
    async ({ urls, nextSteps }) => {
      await greet(urls, (await owned?.nextSteps(urls.url)) ?? nextSteps, config, events, context);
      return Promise.race([stopped, failed]);
    },
    async (error: unknown) => {
      await workers.stop(CANNOT_START);
      throw error;
    },
  );
  return Promise.race([stopped, failed, serving]);
};
