import { type AnalyticsMetrics, createAnalyticsMetrics } from "./analyticsMetrics.ts";
import { type CallMetrics, createCallMetrics } from "./callMetrics.ts";
import { memoize } from "./memoize.ts";
import { type Observed, observedFamilies, observedHeads } from "./observedHeads.ts";
import { createProcessMetrics } from "./processMetrics.ts";
import { createRegistry, type FamilyHead } from "./series.ts";
import { createStoreMetrics, type StoreMetrics } from "./storeMetrics.ts";
import { createTlsClientMetrics, type TlsClientMetrics } from "./tlsClientMetrics.ts";

/** Who decided a rate limit: budget or a remembered denial held in memory, the store, or the rule for a store that is away. */
export type RatelimitSource = "memory" | "store" | "store_down";

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
export interface Metrics extends CallMetrics, StoreMetrics, TlsClientMetrics, Observed {
  /** Counts a verification by its code (verify §3). */
  readonly verification: (code: string) => void;
  /** @param isOwn the limit is the service's own: a quota, or that of the workspace's calls. */
  readonly ratelimit: (passed: boolean, source: RatelimitSource, isOwn: boolean) => void;
  /** Binds the recorder of one cache. */
  readonly cache: (name: string) => (hit: boolean) => void;
  /** What callers have of a resource that they share. Of `calls` it is the number of calls in work. */
  readonly capacityTaken: (resource: string, taken: number) => void;
  /** What there is of it for all callers together. */
  readonly capacityLimit: (resource: string, limit: number) => void;
  /** Counts what was refused, or taken away, for the sake of other callers. */
  readonly capacityRefused: (resource: string) => void;
  /** Counts exceptions inside Node's HTTP modules that ended one connection. */
  readonly connectionFault: () => void;
  readonly analytics: AnalyticsMetrics;
  /** Counts spans of traces that the collector took, or that nobody will see. */
  readonly spans: (result: "exported" | "dropped", count: number) => void;
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

/**
 * Seconds. Every bucket is a line for each combination of labels, so there are few; they begin where a verification from memory
 * lives, and one in two is also a usual goal for a percentile.
 */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

export interface MetricsOptions {
  readonly version: string;
  /** Of the store. */
  readonly engine: string;
  /** `RATELIMIT_STORE_DOWN`. */
  readonly ratelimitStoreDown: string;
}

/** Numbers of one service: several in one process do not share any but those of the process. */
export const createMetrics = ({ version, engine, ratelimitStoreDown }: MetricsOptions): Metrics => {
  const registry = createRegistry();
  const build = registry.gauge({
    name: "latchkey_build_info",
    help: "Always 1; its labels say what runs.",
    labels: ["version", "node", "engine"],
    across: "max",
  });
  const calls = createCallMetrics(registry, BUCKETS);
  const inFlight = registry.gauge({
    name: "latchkey_calls_in_flight",
    help: "Calls that are in work and wait for something.",
    across: "sum",
  });
  const shared = registry.gauge({
    name: "latchkey_capacity_taken",
    help: "What callers have now of what they share: calls, bytes of bodies, HTTP/2 streams, streams without credentials, reads for unknown root keys, connections.",
    labels: ["resource"],
    across: "sum",
  });
  const limits = registry.gauge({
    name: "latchkey_capacity_limit",
    help: "What there is of it, beyond which callers are held to their shares.",
    labels: ["resource"],
    across: "sum",
  });
  const refused = registry.counter({
    name: "latchkey_capacity_refused_total",
    help: "Refused, or taken away, because a caller had its share.",
    labels: ["resource"],
  });
  const connectionFaults = registry.counter({
    name: "latchkey_connection_faults_total",
    help: "Exceptions inside Node's HTTP modules. Each ended one connection; the service continues.",
  });
  const tlsClients = createTlsClientMetrics(registry);
  const verifications = registry.counter({ name: "latchkey_verifications_total", help: "Verifications by code.", labels: ["code"] });
  const ratelimits = registry.counter({
    name: "latchkey_ratelimit_decisions_total",
    help: "Decisions of rate limits by result and by who decided.",
    labels: ["result", "source"],
  });
  const caches = registry.counter({ name: "latchkey_cache_lookups_total", help: "Look-ups in caches.", labels: ["cache", "result"] });
  const store = createStoreMetrics(registry, { engine, ratelimitStoreDown, buckets: BUCKETS });
  const swept = registry.counter({
    name: "latchkey_swept_total",
    help: "Removed of what deletions left behind, by kind.",
    labels: ["kind"],
  });
  const sweepDue = registry.gauge({
    name: "latchkey_sweep_due",
    help: "Deleted objects that wait for their sweep.",
    labels: ["collection"],
    across: "max",
  });
  const analytics = createAnalyticsMetrics(registry, BUCKETS);
  const spans = registry.counter({
    name: "latchkey_trace_spans_total",
    help: "Spans of traces by whether the collector took them or they were dropped; none where nothing is traced.",
    labels: ["result"],
  });

  build(version, process.versions.node, engine)(1);
  const callsInFlight = inFlight();
  const capacityTaken = memoize(shared);
  const capacityRefused = memoize(refused);
  const verification = memoize((code) => verifications(code));
  const passed = memoize((source) => ratelimits("passed", source));
  const denied = memoize((source) => ratelimits("denied", source));
  // A series that begins with what it is there to tell of looks as if nothing had happened.
  for (const source of ["memory", "store", "store_down"] as const) for (const decided of [passed, denied]) decided(source);
  const ofSpans = memoize((result) => spans(result));
  const processMetrics = createProcessMetrics();
  const totals = { verifications: 0, limits: 0, eventsDropped: 0, storeUp: true, analyticsUp: true };

  return {
    ...calls,
    ...store,
    ...tlsClients,
    verification: (code) => {
      totals.verifications++;
      verification(code)();
    },
    ratelimit: (isPassed, source, isOwn) => {
      if (!isOwn) totals.limits++;
      (isPassed ? passed : denied)(source)();
    },
    cache: (name) => {
      const hit = caches(name, "hit");
      const miss = caches(name, "miss");
      return (isHit) => (isHit ? hit : miss)();
    },
    capacityTaken: (resource, taken) => {
      if (resource === "calls") callsInFlight(taken);
      capacityTaken(resource)(taken);
    },
    capacityLimit: (resource, limit) => {
      limits(resource)(limit);
      capacityTaken(resource)(0);
      capacityRefused(resource);
    },
    capacityRefused: (resource) => capacityRefused(resource)(),
    connectionFault: connectionFaults(),
    storeState: (up, countsRatelimits) => {
      totals.storeUp = up;
      store.storeState(up, countsRatelimits);
    },
    swept: (kind, count) => swept(kind)(count),
    sweepDue: (collection, count) => sweepDue(collection)(count),
    analytics: {
      ...analytics,
      dropped: (table, rows) => {
        totals.eventsDropped += rows;
        analytics.dropped(table, rows);
      },
      state: (up) => {
        totals.analyticsUp = up;
        analytics.state(up);
      },
    },
    spans: (result, count) => ofSpans(result)(count),
    observe: (metric, read) => registry.observe(observedHeads[metric], read),
    totals: () => ({ ...totals }),
    families: [...registry.heads(), ...observedFamilies],
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    render: async () => `${registry.render()}\n\n${await processMetrics()}`,
  };
};
