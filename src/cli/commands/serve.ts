import { isEngineInstalled, requiredEngineMissing } from "../../features/analytics/embedded/isEngineInstalled.ts";
import { createSettableClock, type SettableClock } from "../../platform/base/clock.ts";
import { type Config, configVariables } from "../../platform/config/loadConfig.ts";
import { suspiciousVariables } from "../../platform/config/suspiciousVariables.ts";
import { shareOfWorker } from "../../platform/config/workersVariables.ts";
import { createEvents, type Events } from "../../platform/telemetry/events.ts";
import type { Log } from "../../platform/telemetry/log.ts";
import { createService } from "../../service/createService.ts";
import { readArguments } from "../arguments.ts";
import { CANNOT_START, type Command, type CommandContext, CommandFailure, type ExitCode, UNHANDLED_ERROR, UsageError } from "../command.ts";
import { createFirstRootKey, type FirstRootKey } from "../firstStart.ts";
import { greet, nextSteps } from "../greeting.ts";
import { readConfig } from "../readConfig.ts";
import { serveByWorkers } from "../serveByWorkers.ts";

/** Reasons to stop for which nothing goes on as before, however long load balancers take to notice. */
const atOnce: ReadonlySet<string> = new Set([UNHANDLED_ERROR, CANNOT_START]);

interface NodeOptions {
  readonly config: Config;
  readonly testClock: SettableClock | undefined;
  readonly log: Log;
  readonly events: Events;
  readonly context: CommandContext;
}

/** Runs one node until it is told to stop: the whole service, or one worker of it. */
const serveNode = async ({ config, testClock, log, events, context }: NodeOptions): Promise<ExitCode> => {
  const { worker } = context;
  const service = await createService(worker ? shareOfWorker(config) : config, { log, worker, ...(testClock && { testClock }) });
  let isStopping = false;
  const stopped = context.untilStopped().then(async (reason) => {
    isStopping = true;
    if (!worker) events.serviceStopping(reason);
    await service.stop(atOnce.has(reason) ? 0 : undefined);
    if (!worker) events.serviceStopped();
  });
  context.onReload(() => void service.reloadFiles());
  context.onUncaught(service.survive);
  try {
    let first: FirstRootKey | undefined;
    // Before the service is ready: whoever waits for that may read the file next.
    const urls = await service.start(async () => {
      if (config.mongodbUrl !== undefined) return;
      first = await createFirstRootKey(service.store, config.dataDir);
      if (first) events.firstRootKeyCreated(first);
    });
    if (testClock) events.testClockInUse();
    const steps = await nextSteps(service.store, config, urls.url, first);
    if (worker) await worker.started({ urls, nextSteps: steps });
    else await greet(urls, steps, config, events, context);
  } catch (error) {
    if (!isStopping) {
      await service.stop();
      throw error;
    }
  }
  await stopped;
  return 0;
};

/** Runs the service until it is told to stop, be it during the start. */
export const serve: Command = {
  name: "serve",
  usage: "[--test-clock]",
  summary: "Run the service. --test-clock adds testing.setTime, for the tests of your application; never in production.",
  run: async (args, context) => {
    const { values } = readArguments(args, { "test-clock": { type: "boolean" } });
    const config = readConfig(context.env);
    const testClock = values["test-clock"] ? createSettableClock() : undefined;
    if (testClock && config.mongodbUrl !== undefined) {
      throw new UsageError("--test-clock is only for the embedded store: unset MONGODB_URL");
    }
    if (config.analytics?.requiresEngine === true && !isEngineInstalled()) throw new CommandFailure(2, requiredEngineMissing);
    const log = context.openLog(config.logLevel);
    const events = createEvents(log);
    if (context.worker) return serveNode({ config, testClock, log, events, context });
    const suspicious = suspiciousVariables(
      context.env,
      configVariables.map(({ name }) => name),
    );
    if (suspicious.length > 0) events.suspiciousSettings(suspicious);
    if (config.workers === 1) return serveNode({ config, testClock, log, events, context });
    return serveByWorkers(config, events, context);
  },
};
