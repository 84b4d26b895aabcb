import { createRootKeysRepository } from "../features/rootKeys/rootKeysRepository.ts";
import type { Config } from "../platform/config/loadConfig.ts";
import { version } from "../platform/config/version.ts";
import type { Store } from "../platform/storage/port/store.ts";
import type { Events } from "../platform/telemetry/events.ts";
import type { Urls } from "../service/createService.ts";
import type { CommandContext } from "./command.ts";
import { describeStore } from "./configuredStore.ts";
import { createApiCommand, type FirstRootKey, findUnusedFirstRootKey, reachable } from "./firstStart.ts";

/** What a person can do next, when there is something to say. */
export const nextSteps = async (store: Store, config: Config, url: string, first: FirstRootKey | undefined): Promise<readonly string[]> => {
  if (config.mongodbUrl === undefined) {
    const file = first?.file ?? (await findUnusedFirstRootKey(store, config.dataDir));
    if (file === undefined) return [];
    const occasion =
      first === undefined ? "The root key of the first start has not been used yet; it" : "This is the first start: a root key";
    return [`\n${occasion} is in ${file}. Create an API with it:\n`, createApiCommand(url, file)];
  }
  const rootKeys = await createRootKeysRepository(store).list();
  return rootKeys.length === 0 ? ["\nThere is no root key yet. Make one: latchkey root-key create --name admin"] : [];
};

/** Tells the user, and the log, where a service that has started is. */
export const greet = async (
  { url, adminUrl, consoleUrl, errorsBaseUrl }: Urls,
  steps: readonly string[],
  config: Config,
  events: Pick<Events, "serviceStarted">,
  context: Pick<CommandContext, "print">,
): Promise<void> => {
  const store = describeStore(config);
  const greeting = `Latchkey ${version} serves ${url}, metrics and health are on ${adminUrl} (${store})`;
  // Whoever reads the greeting may have left; that is no reason to stop serving.
  const page = consoleUrl === undefined ? [] : [`The console is on ${reachable(consoleUrl)}`];
  await context.print([greeting, ...page, ...steps].join("\n")).catch(() => undefined);
  events.serviceStarted({ url, adminUrl, consoleUrl, errorsBaseUrl, store, version });
};
