import type { Config } from "../platform/config/loadConfig.ts";
import type { Events } from "../platform/telemetry/events.ts";
import { superviseWorkers, type WorkersFailure } from "../service/workers/superviseWorkers.ts";
import { CANNOT_START, type CommandContext, type ExitCode } from "./command.ts";
import { greet } from "./greeting.ts";

/** Runs a service of several processes until it is told to stop, be it during the start. This process starts them, and serves the admin port. */
export const serveByWorkers = async (config: Config, events: Events, context: CommandContext): Promise<ExitCode> => {
  const workers = superviseWorkers({ config, clock: context.clock, events, writeLog: context.writeLog });
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
  const serving = workers.start().then(async ({ urls, nextSteps }) => {
    await greet(urls, nextSteps, config, events, context);
    return Promise.race([stopped, failed]);
  });
  return Promise.race([stopped, failed, serving]);
};
