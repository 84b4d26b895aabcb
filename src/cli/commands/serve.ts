import { type Config, configVariables } from "../../config/loadConfig.ts";
import { suspiciousVariables } from "../../config/suspiciousVariables.ts";
import { createSettableClock } from "../../domain/clock.ts";
import type { Service, Urls } from "../../service/createService.ts";
import { createRootKeysRepository } from "../../storage/repositories/rootKeysRepository.ts";
import { createEvents, type Events } from "../../telemetry/events.ts";
import { version } from "../../version.ts";
import { readArguments } from "../arguments.ts";
import { type Command, type CommandContext, UNHANDLED_ERROR, UsageError } from "../command.ts";
import { describeStore } from "../configuredStore.ts";
import { createApiCommand, createFirstRootKey, type FirstRootKey, findUnusedFirstRootKey, reachable } from "../firstStart.ts";
import { readConfig } from "../readConfig.ts";
import { releaseMemory } from "../releaseMemory.ts";

/** What a person can do next, when there is something to say. */
const nextSteps = async (service: Service, config: Config, url: string, first: FirstRootKey | undefined): Promise<string[]> => {
  if (config.mongodbUrl === undefined) {
    const file = first?.file ?? (await findUnusedFirstRootKey(service.store, config.dataDir));
    if (file === undefined) return [];
    const occasion =
      first === undefined ? "The root key of the first start has not been used yet; it" : "This is the first start: a root key";
    return [`\n${occasion} is in ${file}. Create an API with it:\n`, createApiCommand(url, file)];
  }
  const rootKeys = await createRootKeysRepository(service.store).list();
  return rootKeys.length === 0 ? ["\nThere is no root key yet. Make one: latchkey root-key create --name admin"] : [];
};

const announce = async (
  service: Service,
  { url, adminUrl, consoleUrl, errorsBaseUrl }: Urls,
  config: Config,
  first: FirstRootKey | undefined,
  events: Events,
  context: CommandContext,
): Promise<void> => {
  const store = describeStore(config);
  const steps = await nextSteps(service, config, url, first);
  const greeting = `Latchkey ${version} serves ${url}, metrics and health are on ${adminUrl} (${store})`;
  // Whoever reads the greeting may have left; that is no reason to stop serving.
  const page = consoleUrl === undefined ? [] : [`The console is on ${reachable(consoleUrl)}`];
  await context.print([greeting, ...page, ...steps].join("\n")).catch(() => undefined);
  events.serviceStarted({ url, adminUrl, consoleUrl, errorsBaseUrl, store, version });
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
    // Most of the program's modules are the service's: the other commands start in a third of the time without them.
    const { createService } = await import("../../service/createService.ts");
    const log = context.openLog(config.logLevel);
    const events = createEvents(log);
    const suspicious = suspiciousVariables(
      context.env,
      configVariables.map(({ name }) => name),
    );
    if (suspicious.length > 0) events.suspiciousSettings(suspicious);
    const service = await createService(config, { log, ...(testClock && { testClock }) });
    let isStopping = false;
    const stopped = context.untilStopped().then(async (reason) => {
      isStopping = true;
      events.serviceStopping(reason);
      // A faulty process takes no more calls.
      await service.stop(reason === UNHANDLED_ERROR ? 0 : undefined);
      events.serviceStopped();
    });
    context.onReload(() => void service.reloadFiles());
    try {
      let first: FirstRootKey | undefined;
      // Before the service is ready: whoever waits for that may read the file next.
      const urls = await service.start(async () => {
        if (config.mongodbUrl !== undefined) return;
        first = await createFirstRootKey(service.store, config.dataDir);
        if (first) events.firstRootKeyCreated(first);
      });
      releaseMemory();
      if (testClock) events.testClockInUse();
      await announce(service, urls, config, first, events, context);
    } catch (error) {
      if (!isStopping) {
        await service.stop();
        throw error;
      }
    }
    await stopped;
    return 0;
  },
};
