import type { Reason } from "../domain/errors.ts";
import { type AnalyticsMetrics, createAnalyticsMetrics } from "./analyticsMetrics.ts";
import { createCounter, createGauge, createHistogram, type FamilyHead } from "./series.ts";

/** How a call ended: `ok`, or the reason of its error. */
export type CallOutcome = "ok" | Reason;

/** Who decided a rate limit: budget or a remembered denial held in memory, the store, or the rule for a store that is away. */
export type RatelimitSource = "memory" | "store" | "store_down";

export type StoreOutcome = "ok" | "duplicate_key" | "overloaded" | "unavailable" | "error";

/** Counts since the start. */
export interface Totals {
  readonly verifications: number;
  /** Decisions on single rate limits of callers. */
  readonly limits: number;
  readonly eventsDropped: number;
  /** Not known to be away. */
  readonly storeUp: boolean;
  readonly analyticsUp: boolean;
}

/**
 * What the service counts. Recorders are bound once to their labels and cost well under a microsecond each, so they may
 * stand on the path of every verification. Durations are given in milliseconds and published in seconds.
 */
export interface Metrics {
  /** Binds the recorder of one procedure (`keys.verifyKey`). */
  readonly calls: (procedure: string) => (outcome: CallOutcome, milliseconds: number) => void;
  /** Counts a verification by its code (verify §3). */
  readonly verification: (code: string) => void;
  /** @param isOwn the limit is the service's own: a quota, or that of the workspace's calls. */
  readonly ratelimit: (passed: boolean, source: RatelimitSource, isOwn: boolean) => void;
  /** Binds the recorder of one cache. */
  readonly cache: (name: string) => (hit: boolean) => void;
  readonly storeOperation: (collection: string, operation: string, outcome: StoreOutcome, milliseconds: number) => void;
  /** Also says whether rate limits go by the rule for a store that is away. */
  readonly storeState: (up: boolean) => void;
  /** What callers have of a resource that they share. Of `calls` it is the number of calls in work. */
  readonly capacityTaken: (resource: string, taken: number) => void;
  /** Counts what was refused, or taken away, for the sake of other callers. */
  readonly capacityRefused: (resource: string) => void;
  readonly analytics: AnalyticsMetrics;
  /** Counts what a sweep removed of what deletions left behind. */
  readonly swept: (kind: string, count: number) => void;
  /** Deleted objects that wait for their sweep. */
  readonly sweepDue: (collection: string, count: number) => void;
  /** What of it nodes tell each other. */
  readonly totals: () => Totals;
  /** What `render` shows, without the measurements of the process itself. */
  readonly families: readonly FamilyHead[];
  /** Media type of `render`. */
  readonly contentType: string;
  /** Everything in Prometheus' text format. The first call starts the measurements of the process itself. */
  readonly render: () => Promise<string>;
}

/** Seconds; finer than usual at the lower end, where a verification from memory lives. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

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

/** What Node and the operating system know of this process; the library is loaded, and measures, from the first use on. */
const createProcessMetrics = (): (() => Promise<string>) => {
  let registry: Promise<{ metrics(): Promise<string> }> | undefined;
  const start = async (): Promise<{ metrics(): Promise<string> }> => {
    const { collectDefaultMetrics, Registry } = await import("prom-client");
    const own = new Registry();
    collectDefaultMetrics({ register: own });
    return own;
  };
  return async () => {
    registry ??= start();
    return (await registry).metrics();
  };
};

export interface MetricsOptions {
  readonly version: string;
  /** Of the store. */
  readonly engine: string;
  /** `RATELIMIT_STORE_DOWN`. */
  readonly ratelimitStoreDown: string;
  /** Milliseconds that the store's clock is ahead of this machine's; asked for at each scrape. */
  readonly clockOffset: () => number;
}

/** Numbers of one service: several in one process do not share any but those of the process. */
export const createMetrics = ({ version, engine, ratelimitStoreDown, clockOffset }: MetricsOptions): Metrics => {
  const build = createGauge({ name: "latchkey_build_info", help: "Always 1.", labels: ["version"] });
  const callDuration = createHistogram(
    {
      name: "latchkey_call_duration_seconds",
      help: "Duration of calls by procedure and outcome, from the request's headers to its answer.",
      labels: ["procedure", "outcome"],
    },
    BUCKETS,
  );
  const verifications = createCounter({ name: "latchkey_verifications_total", help: "Verifications by code.", labels: ["code"] });
  const ratelimits = createCounter({
    name: "latchkey_ratelimit_decisions_total",
    help: "Decisions of rate limits by result and by who decided.",
    labels: ["result", "source"],
  });
  const caches = createCounter({ name: "latchkey_cache_lookups_total", help: "Look-ups in caches.", labels: ["cache", "result"] });
  const storeDuration = createHistogram(
    {
      name: "latchkey_store_operation_duration_seconds",
      help: "Duration of store operations by collection, operation and outcome.",
      labels: ["collection", "operation", "outcome"],
    },
    BUCKETS,
  );
  const withoutStore = createGauge({
    name: "latchkey_ratelimit_store_down",
    help: "1 while the store is away and rate limits go by what is held and then by this policy, else 0.",
    labels: ["policy"],
  });
  const store = createGauge({ name: "latchkey_store_up", help: "1 while the store answers, 0 while it is away.", labels: ["engine"] });
  const offset = createGauge({
    name: "latchkey_clock_offset_seconds",
    help: "How far the store's clock, which all nodes go by, is ahead of this machine's.",
    labels: [],
  });
  const swept = createCounter({ name: "latchkey_swept_total", help: "Removed of what deletions left behind, by kind.", labels: ["kind"] });
  const sweepDue = createGauge({ name: "latchkey_sweep_due", help: "Deleted objects that wait for their sweep.", labels: ["collection"] });
  const inFlight = createGauge({ name: "latchkey_calls_in_flight", help: "Calls that are in work and wait for something.", labels: [] });
  const shared = createGauge({
    name: "latchkey_capacity_taken",
    help: "What callers have now of what they share: calls, bytes of bodies, HTTP/2 streams, streams without credentials, reads for unknown root keys, connections.",
    labels: ["resource"],
  });
  const refused = createCounter({
    name: "latchkey_capacity_refused_total",
    help: "Refused, or taken away, because a caller had its share.",
    labels: ["resource"],
  });
  const analytics = createAnalyticsMetrics(BUCKETS);

  const families = [
    ...[build, callDuration, inFlight, shared, refused, verifications, ratelimits, caches, storeDuration],
    ...[store, withoutStore, offset, swept, sweepDue],
    ...analytics.families,
  ];

  build.bind(version)(1);
  const callsInFlight = inFlight.bind();
  const capacityTaken = memoize((resource) => shared.bind(resource));
  const capacityRefused = memoize((resource) => refused.bind(resource));
  const storeUp = store.bind(engine);
  const setOffset = offset.bind();
  const limitsWithoutStore = withoutStore.bind(ratelimitStoreDown);
  const verification = memoize((code) => verifications.bind(code));
  const passed = memoize((source) => ratelimits.bind("passed", source));
  const denied = memoize((source) => ratelimits.bind("denied", source));
  const storeOperations = memoize((collection) =>
    memoize((operation) => memoize((outcome) => storeDuration.bind(collection, operation, outcome))),
  );
  const processMetrics = createProcessMetrics();
  const totals = { verifications: 0, limits: 0, eventsDropped: 0, storeUp: true, analyticsUp: true };

  return {
    calls: (procedure) => {
      const byOutcome = memoize((outcome) => callDuration.bind(procedure, outcome));
      return (outcome, milliseconds) => byOutcome(outcome)(milliseconds / 1000);
    },
    verification: (code) => {
      totals.verifications++;
      verification(code)();
    },
    ratelimit: (isPassed, source, isOwn) => {
      if (!isOwn) totals.limits++;
      (isPassed ? passed : denied)(source)();
    },
    cache: (name) => {
      const hit = caches.bind(name, "hit");
      const miss = caches.bind(name, "miss");
      return (isHit) => (isHit ? hit : miss)();
    },
    storeOperation: (collection, operation, outcome, milliseconds) => storeOperations(collection)(operation)(outcome)(milliseconds / 1000),
    capacityTaken: (resource, taken) => {
      if (resource === "calls") callsInFlight(taken);
      capacityTaken(resource)(taken);
    },
    capacityRefused: (resource) => capacityRefused(resource)(),
    storeState: (up) => {
      totals.storeUp = up;
      storeUp(up ? 1 : 0);
      limitsWithoutStore(up ? 0 : 1);
    },
    swept: (kind, count) => swept.bind(kind)(count),
    sweepDue: (collection, count) => sweepDue.bind(collection)(count),
    analytics: {
      ...analytics.metrics,
      dropped: (table, rows) => {
        totals.eventsDropped += rows;
        analytics.metrics.dropped(table, rows);
      },
      state: (up) => {
        totals.analyticsUp = up;
        analytics.metrics.state(up);
      },
    },
    totals: () => ({ ...totals }),
    families: families.map(({ head }) => head),
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    render: async () => {
      setOffset(clockOffset() / 1000);
      return [...families.map((family) => family.render()), await processMetrics()].join("\n\n");
    },
  };
};
