import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Reason } from "../domain/errors.ts";

/** How a call ended: `ok`, or the reason of its error. */
export type CallOutcome = "ok" | Reason;

/** Who decided a rate limit: budget or a remembered denial held in memory, the store, or the rule for a store that is away. */
export type RatelimitSource = "memory" | "store" | "store_down";

export type StoreOutcome = "ok" | "duplicate_key" | "unavailable" | "error";

/**
 * What the service counts. Recorders are bound once to their labels and cost well under a microsecond each, so they may
 * stand on the path of every verification. Durations are given in milliseconds and published in seconds.
 */
export interface Metrics {
  /** Binds the recorder of one procedure (`keys.verifyKey`). */
  readonly calls: (procedure: string) => (outcome: CallOutcome, milliseconds: number) => void;
  /** Counts a verification by its code (verify §3). */
  readonly verification: (code: string) => void;
  readonly ratelimit: (passed: boolean, source: RatelimitSource) => void;
  /** Binds the recorder of one cache. */
  readonly cache: (name: string) => (hit: boolean) => void;
  readonly storeOperation: (collection: string, operation: string, outcome: StoreOutcome, milliseconds: number) => void;
  readonly storeState: (up: boolean) => void;
  /** Media type of `render`. */
  readonly contentType: string;
  /** Everything in Prometheus' text format. The first call starts the measurements of the process itself. */
  readonly render: () => Promise<string>;
}

/** Seconds; finer than usual at the lower end, where a verification from memory lives. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

interface Tally {
  /** Binds a counter to label values, in the order of the label names. */
  readonly bind: (...values: string[]) => () => void;
}

/** A counter whose increments touch one number; the labels are put together when it is read. */
const createTally = (registry: Registry, name: string, help: string, labelNames: readonly string[]): Tally => {
  const cells = new Map<string, { readonly values: readonly string[]; count: number }>();
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      for (const { values, count } of cells.values()) this.labels(...values).inc(count);
    },
  });
  return {
    bind: (...values) => {
      const id = values.join("\0");
      const cell = cells.get(id) ?? { values, count: 0 };
      cells.set(id, cell);
      return () => {
        cell.count++;
      };
    },
  };
};

/** Calls `make` once per argument and remembers what it returned. */
const memoize = <T>(make: (key: string) => T): ((key: string) => T) => {
  const known = new Map<string, T>();
  return (key) => {
    let value = known.get(key);
    if (value === undefined) {
      value = make(key);
      known.set(key, value);
    }
    return value;
  };
};

/** One registry of its own: several services in one process do not share numbers. */
export const createMetrics = ({ version, engine }: { readonly version: string; readonly engine: string }): Metrics => {
  const registry = new Registry();
  const registers = [registry];

  new Gauge({ name: "latchkey_build_info", help: "Always 1.", labelNames: ["version"], registers }).labels(version).set(1);
  const callDuration = new Histogram({
    name: "latchkey_call_duration_seconds",
    help: "Duration of calls by procedure and outcome, from the request's headers to its answer.",
    labelNames: ["procedure", "outcome"],
    buckets: BUCKETS,
    registers,
  });
  const verifications = createTally(registry, "latchkey_verifications_total", "Verifications by code.", ["code"]);
  const ratelimits = createTally(registry, "latchkey_ratelimit_decisions_total", "Decisions of rate limits by result and by who decided.", [
    "result",
    "source",
  ]);
  const caches = createTally(registry, "latchkey_cache_lookups_total", "Look-ups in caches.", ["cache", "result"]);
  const storeDuration = new Histogram({
    name: "latchkey_store_operation_duration_seconds",
    help: "Duration of store operations by collection, operation and outcome.",
    labelNames: ["collection", "operation", "outcome"],
    buckets: BUCKETS,
    registers,
  });
  const storeUp = new Gauge({
    name: "latchkey_store_up",
    help: "1 while the store answers, 0 while it is away.",
    labelNames: ["engine"],
    registers,
  }).labels(engine);

  const verification = memoize((code) => verifications.bind(code));
  const passed = memoize((source) => ratelimits.bind("passed", source));
  const denied = memoize((source) => ratelimits.bind("denied", source));
  const storeOperations = memoize((collection) =>
    memoize((operation) => memoize((outcome) => storeDuration.labels(collection, operation, outcome))),
  );
  let measuresProcess = false;

  return {
    calls: (procedure) => {
      const byOutcome = memoize((outcome) => callDuration.labels(procedure, outcome));
      return (outcome, milliseconds) => byOutcome(outcome).observe(milliseconds / 1000);
    },
    verification: (code) => verification(code)(),
    ratelimit: (isPassed, source) => (isPassed ? passed : denied)(source)(),
    cache: (name) => {
      const hit = caches.bind(name, "hit");
      const miss = caches.bind(name, "miss");
      return (isHit) => (isHit ? hit : miss)();
    },
    storeOperation: (collection, operation, outcome, milliseconds) =>
      storeOperations(collection)(operation)(outcome).observe(milliseconds / 1000),
    storeState: (up) => storeUp.set(up ? 1 : 0),
    contentType: registry.contentType,
    render: () => {
      if (!measuresProcess) {
        measuresProcess = true;
        collectDefaultMetrics({ register: registry });
      }
      return registry.metrics();
    },
  };
};
