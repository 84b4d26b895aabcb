import { setTimeout as sleep } from "node:timers/promises";
import { applyLoad, type LoadResult } from "./load.ts";
import type { ServerProcess } from "./processes.ts";
import { shapes, type Target, warmUp } from "./targets.ts";

const REST_MS = 500;
const LONGEST_REST_MS = 15_000;
/** Share of a core that servers may use and count as idle. */
const IDLE = 0.1;

export interface Measurement extends LoadResult {
  /** CPU time of the server for one call, in microseconds. */
  readonly cpu: number;
  /** Operations on counters in the store per 1,000 calls. */
  readonly counterOperations: number | undefined;
}

/**
 * Waits until the servers have done what the load before left behind, such as moving events into the audit log: they
 * share a core, and it would count for the next target.
 */
const quiet = async (servers: readonly ServerProcess[]): Promise<void> => {
  const used = (): number => servers.reduce((sum, { cpuSeconds }) => sum + cpuSeconds(), 0);
  for (let waited = 0; waited < LONGEST_REST_MS; waited += REST_MS) {
    const before = used();
    await sleep(REST_MS);
    if (used() - before <= (REST_MS / 1_000) * IDLE) return;
  }
  console.error("the servers are still busy with what came before");
};

/** Loads a target that is warm, and counts what its calls cost. @param servers all that share the core. */
export const measureWarm = async (target: Target, seconds: number, servers: readonly ServerProcess[]): Promise<Measurement> => {
  const { call, server, counterOperations } = target;
  const operationsBefore = await counterOperations?.();
  const before = server.cpuSeconds();
  const result = await applyLoad({ ...call, ...shapes[call.protocol], seconds });
  // What a call leaves to be done later is part of its cost.
  await quiet(servers);
  const cpu = ((server.cpuSeconds() - before) / result.requests) * 1e6;
  const operationsAfter = await counterOperations?.();
  const operations =
    operationsBefore === undefined || operationsAfter === undefined
      ? undefined
      : ((operationsAfter - operationsBefore) / result.requests) * 1_000;
  return { ...result, cpu, counterOperations: operations };
};

/** Warms a target up and measures it. @param servers all that share the core. */
export const measureTarget = async (target: Target, seconds: number, servers: readonly ServerProcess[]): Promise<Measurement> => {
  await warmUp(target);
  return measureWarm(target, seconds, servers);
};

/** The item in the middle, by its value. */
export const medianBy = <T>(items: readonly T[], value: (item: T) => number): T => {
  const middle = [...items].sort((a, b) => value(a) - value(b))[Math.floor(items.length / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
};
