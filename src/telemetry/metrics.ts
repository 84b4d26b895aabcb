import { type AnalyticsMetrics, createAnalyticsMetrics } from "./analyticsMetrics.ts";
import { type CallMetrics, createCallMetrics } from "./callMetrics.ts";
import { memoize } from "./memoize.ts";
import { createObservedMetrics, type ObservedMetrics } from "./observedMetrics.ts";
import { createProcessMetrics } from "./processMetrics.ts";
import { createCounter, createGauge, type FamilyHead } from "./series.ts";
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
export interface Metrics extends CallMetrics, StoreMetrics, TlsClientMetrics, Pick<ObservedMetrics, "observe"> {
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
  const build = createGauge({
    name: "latchkey_build_info",
    help: "Always 1; its labels say what runs.",
    labels: ["version", "node", "engine"],
    across: "max",
  });
  const verifications = createCounter({ name: "latchkey_verifications_total", help: "Verifications by code.", labels: ["code"] });
  const ratelimits = createCounter({
    name: "latchkey_ratelimit_decisions_total",
    help: "Decisions of rate limits by result and by who decided.",
    labels: ["result", "source"],
  });
  const caches = createCounter({ name: "latchkey_cache_lookups_total", help: "Look-ups in caches.", labels: ["cache", "result"] });
  const swept = createCounter({ name: "latchkey_swept_total", help: "Removed of what deletions left behind, by kind.", labels: ["kind"] });
  const sweepDue = createGauge({
    name: "latchkey_sweep_due",
    help: "Deleted objects that wait for their sweep.",
    labels: ["collection"],
    across: "max",
  });
  const spans = createCounter({
    name: "latchkey_trace_spans_total",
    help: "Spans of traces by whether the collector took them or they were dropped; none where nothing is traced.",
    labels: ["result"],
  });
  const inFlight = createGauge({
    name: "latchkey_calls_in_flight",
    help: "Calls that are in work and wait for something.",
    labels: [],
    across: "sum",
  });
  const shared = createGauge({
    name: "latchkey_capacity_taken",
    help: "What callers have now of what they share: calls, bytes of bodies, HTTP/2 streams, streams without credentials, reads for unknown root keys, connections.",
    labels: ["resource"],
    across: "sum",
  });
  const limits = createGauge({
    name: "latchkey_capacity_limit",
    help: "What there is of it, beyond which callers are held to their shares.",
    labels: ["resource"],
    across: "sum",
  });
  const refused = createCounter({
    name: "latchkey_capacity_refused_total",
    help: "Refused, or taken away, because a caller had its share.",
    labels: ["resource"],
  });
  const connectionFaults = createCounter({
    name: "latchkey_connection_faults_total",
    help: "Exceptions inside Node's HTTP modules. Each ended one connection; the service continues.",
    labels: [],
  });
  const tlsClients = createTlsClientMetrics();
  const calls = createCallMetrics(BUCKETS);
  const store = createStoreMetrics({ engine, ratelimitStoreDown, buckets: BUCKETS });
  const analytics = createAnalyticsMetrics(BUCKETS);

  const families = [
    ...[
      build,
      ...calls.families,
      inFlight,
      shared,
      limits,
      refused,
      connectionFaults,
      ...tlsClients.families,
      verifications,
      ratelimits,
      caches,
    ],
    ...[...store.families, swept, sweepDue, ...analytics.families, spans],
  ];

  build.bind(version, process.versions.node, engine)(1);
  const callsInFlight = inFlight.bind();
  const capacityTaken = memoize((resource) => shared.bind(resource));
  const capacityRefused = memoize((resource) => refused.bind(resource));
  const verification = memoize((code) => verifications.bind(code));
  const passed = memoize((source) => ratelimits.bind("passed", source));
  const denied = memoize((source) => ratelimits.bind("denied", source));
  // A series that begins with what it is there to tell of looks as if nothing had happened.
  for (const source of ["memory", "store", "store_down"] as const) for (const decided of [passed, denied]) decided(source);
  const ofSpans = memoize((result) => spans.bind(result));
  const observed = createObservedMetrics();
  const processMetrics = createProcessMetrics();
  const totals = { verifications: 0, limits: 0, eventsDropped: 0, storeUp: true, analyticsUp: true };

  return {
    ...calls.metrics,
    ...store.metrics,
    ...tlsClients.metrics,
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
    capacityTaken: (resource, taken) => {
      if (resource === "calls") callsInFlight(taken);
      capacityTaken(resource)(taken);
    },
    capacityLimit: (resource, limit) => {
      limits.bind(resource)(limit);
      capacityTaken(resource)(0);
      capacityRefused(resource);
    },
    capacityRefused: (resource) => capacityRefused(resource)(),
    connectionFault: connectionFaults.bind(),
    storeState: (up) => {
      totals.storeUp = up;
      store.metrics.storeState(up);
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
    spans: (result, count) => ofSpans(result)(count),
    observe: observed.observe,
    totals: () => ({ ...totals }),
    families: [...families.map(({ head }) => head), ...observed.heads],
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    render: async () => [...families.map((family) => family.render()), ...observed.render(), await processMetrics()].join("\n\n"),
  };
};
