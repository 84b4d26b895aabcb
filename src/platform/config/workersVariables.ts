import { availableParallelism } from "node:os";
import { integer, type Parser, type Reading, type Variables } from "./parsers.ts";

/** More are of use to nobody who did not count them: each has caches and connections of its own. */
const MOST_AUTOMATIC = 16;
const MOST = 64;

const workers: Parser<number | "auto"> = (value) => {
  if (value === "auto") return { value };
  const parsed = integer(1, MOST)(value);
  return "value" in parsed ? parsed : { expected: `auto or ${parsed.expected}` };
};

const variables = {
  WORKERS: {
    byDefault: "1",
    description: `Processes that serve on the one port, each of them a node; more than one needs \`MONGODB_URL\`. \`auto\`: as many as there are CPU cores, up to ${MOST_AUTOMATIC}; one on the embedded store.`,
    parse: workers,
  },
} as const satisfies Variables;

/** How many processes serve. */
export const workersVariables: Variables = variables;

/** @param embeddedAnalytics whether events are kept by this machine. */
export const readWorkers = ({ env, read, problems }: Reading, embeddedAnalytics: boolean): number => {
  const given = read(variables, "WORKERS");
  const hasServer = env.MONGODB_URL !== undefined;
  const automatic = hasServer ? Math.min(availableParallelism(), MOST_AUTOMATIC) : 1;
  const count = given === "auto" ? automatic : given;
  if (count === 1) return count;
  if (!hasServer) problems.set("WORKERS", "WORKERS: the embedded store serves one process only: set MONGODB_URL, or WORKERS=1");
  else if (embeddedAnalytics)
    problems.set(
      "WORKERS",
      "ANALYTICS and WORKERS: the embedded analytics engine serves one process only: set CLICKHOUSE_URL, or ANALYTICS=off, or WORKERS=1",
    );
  return count;
};

/** What a service may take in all, and the number of its workers. */
interface Shared {
  readonly workers: number;
  readonly cacheMegabytes: number;
  readonly maxInFlight: number;
}

/** The same configuration, with one worker's part of what the service may take. */
export const shareOfWorker = <C extends Shared>(config: C): C => ({
  ...config,
  cacheMegabytes: config.cacheMegabytes / config.workers,
  maxInFlight: Math.ceil(config.maxInFlight / config.workers),
});
