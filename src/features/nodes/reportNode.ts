import { hostname } from "node:os";
import type { Clock } from "../../platform/base/clock.ts";
import type { CacheSize } from "../../platform/cache/createCache.ts";
import type { AnalyticsConfig } from "../../platform/config/analyticsVariables.ts";
import { version } from "../../platform/config/version.ts";
import type { Capacity } from "../../platform/http/capacity.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import { AUDIT_FORMAT } from "../audit/chainHash.ts";
import { createNodeReporter, type NodeReporter } from "./nodeReporter.ts";
import type { NodesRepository } from "./nodesRepository.ts";

export interface ReportNodeOptions {
  /** The one that all nodes share. */
  readonly clock: Clock;
  readonly store: Store;
  readonly nodes: NodesRepository;
  readonly feed: { readonly node: string; readonly lag: () => number };
  /** Of all caches together. */
  readonly cached: CacheSize;
  readonly capacity: Capacity;
  /** Undefined where there are no analytics. */
  readonly analytics: AnalyticsConfig | undefined;
  readonly metrics: Metrics;
  readonly onError: (error: unknown) => void;
}

/** Has the other nodes told what this one is and how it does, from what its parts know. */
export const reportNode = (options: ReportNodeOptions): NodeReporter => {
  const { clock, store, nodes, feed, cached, capacity, analytics, metrics, onError } = options;
  const analyticsKind = analytics === undefined ? "none" : analytics.clickhouseUrl === undefined ? "embedded" : "clickhouse";
  return createNodeReporter({
    clock,
    nodes,
    node: { _id: feed.node, version, host: hostname(), auditFormat: AUDIT_FORMAT, storeKind: store.engine },
    figures: () => {
      const { verifications, limits, eventsDropped, storeUp, analyticsUp } = metrics.totals();
      return {
        changesLagMs: Math.round(feed.lag()),
        cacheEntries: cached.size(),
        cacheBytes: Math.round(cached.bytes()),
        inFlight: capacity.calls.taken(),
        analytics: { kind: analyticsKind, up: analytics !== undefined && analyticsUp, dropped: eventsDropped },
        storeUp,
        totals: { verifications, limits },
      };
    },
    ping: store.ping,
    onError,
  });
};
