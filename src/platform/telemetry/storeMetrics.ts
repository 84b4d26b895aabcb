import { memoize } from "./memoize.ts";
import type { Registry } from "./series.ts";

export type StoreOutcome = "ok" | "duplicate_key" | "overloaded" | "unavailable" | "error";

/** What operations of the store are timed as; `counter`: those of rate limits, `system`: pings, and the preparation at the start. */
export type StoreOperationKind = "read" | "write" | "counter" | "system";

/** What is counted of the store. */
export interface StoreMetrics {
  readonly storeOperation: (
    collection: string,
    operation: string,
    kind: StoreOperationKind,
    outcome: StoreOutcome,
    milliseconds: number,
  ) => void;
  /** @param countsRatelimits true unless given: then it also says whether rate limits go by the rule for a store that is away. */
  readonly storeState: (up: boolean, countsRatelimits?: boolean) => void;
  /** Of the server that counts rate limits in place of the store: says whether they go by that rule. */
  readonly counterServerState: (up: boolean) => void;
}

export interface StoreMetricsOptions {
  readonly engine: string;
  /** `RATELIMIT_STORE_DOWN`. */
  readonly ratelimitStoreDown: string;
  /** Of durations, in seconds. */
  readonly buckets: readonly number[];
}

/** Operations are counted by collection, operation and outcome, and timed by kind. */
export const createStoreMetrics = (registry: Registry, { engine, ratelimitStoreDown, buckets }: StoreMetricsOptions): StoreMetrics => {
  const total = registry.counter({
    name: "latchkey_store_operations_total",
    help: "Operations of the store by collection, operation and outcome.",
    labels: ["collection", "operation", "outcome"],
  });
  const durations = registry.histogram(
    {
      name: "latchkey_store_operation_duration_seconds",
      help: "Duration of store operations by kind: read, write, counter (of rate limits), system.",
      labels: ["kind"],
    },
    buckets,
  );
  const up = registry.gauge({
    name: "latchkey_store_up",
    help: "1 while the store answers, 0 while it is away.",
    labels: ["engine"],
    across: "min",
  });
  const away = registry.gauge({
    name: "latchkey_ratelimit_store_down",
    help: "1 while the store, or the counter server, is away and rate limits go by what is held and then by this policy, else 0.",
    labels: ["policy"],
    across: "max",
  });
  const counterServerUp = registry.gauge({
    name: "latchkey_counter_server_up",
    help: "1 while the server of COUNTERS_URL answers, 0 while it is away; absent where the store counts rate limits.",
    across: "min",
  });
  const setUp = up(engine);
  const setAway = away(ratelimitStoreDown);
  const counts = memoize((collection) => memoize((operation) => memoize((outcome) => total(collection, operation, outcome))));
  const durationOf = memoize((kind) => durations(kind));

  return {
    storeOperation: (collection, operation, kind, outcome, milliseconds) => {
      counts(collection)(operation)(outcome)();
      durationOf(kind)(milliseconds / 1000);
    },
    storeState: (isUp, countsRatelimits = true) => {
      setUp(isUp ? 1 : 0);
      if (countsRatelimits) setAway(isUp ? 0 : 1);
    },
    counterServerState: (isUp) => {
      counterServerUp()(isUp ? 1 : 0);
      setAway(isUp ? 0 : 1);
    },
  };
};
