import type { AuditLogRepository } from "../features/audit/auditLogRepository.ts";
import { createSessionsRepository } from "../features/console/sessionsRepository.ts";
import type { RootKeysRepository } from "../features/rootKeys/rootKeysRepository.ts";
import type { Clock } from "../platform/base/clock.ts";
import type { CacheSize } from "../platform/cache/createCache.ts";
import type { Config } from "../platform/config/loadConfig.ts";
import type { Store, StoreUsage } from "../platform/storage/port/store.ts";
import type { Events } from "../platform/telemetry/events.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { Sample } from "../platform/telemetry/series.ts";
import type { WatchedLeases } from "../platform/telemetry/watchLeases.ts";
import { createStoreObserver, type StoreObserver } from "./storeObserver.ts";

export interface ObserveServiceOptions {
  readonly config: Pick<Config, "cacheMegabytes" | "console">;
  /** One that nobody turns. */
  readonly clock: Clock;
  readonly store: Store;
  readonly usage: () => Promise<StoreUsage>;
  readonly auditLog: AuditLogRepository;
  readonly rootKeys: RootKeysRepository;
  readonly caches: Readonly<Record<string, CacheSize>>;
  /** `lag`: milliseconds. */
  readonly feed: { readonly lag: () => number };
  readonly held: WatchedLeases["held"];
  readonly metrics: Metrics;
  readonly events: Pick<Events, "backgroundTaskFailed">;
}

/** Publishes what the parts of a node know of themselves, and looks after what only the store knows. */
export const observeService = (options: ObserveServiceOptions): StoreObserver => {
  const { config, clock, store, usage, auditLog, rootKeys, caches, feed, held, metrics, events } = options;
  const ofEach = (value: (cache: CacheSize) => number): readonly Sample[] =>
    Object.entries(caches).map(([name, cache]) => [[name], Math.round(value(cache))]);
  metrics.observe("cacheBytes", () => ofEach(({ bytes }) => bytes()));
  metrics.observe("cacheEntries", () => ofEach(({ size }) => size()));
  metrics.observe("cacheLimit", () => [[[], config.cacheMegabytes * 1024 * 1024]]);
  metrics.observe("feedLag", () => [[[], feed.lag() / 1_000]]);
  metrics.observe("leases", held);
  const sessions = config.console && createSessionsRepository(store);
  const onError = (error: unknown): void => events.backgroundTaskFailed("store figures", error);
  return createStoreObserver({ clock, metrics, usage, auditLog, rootKeys, sessions, onError });
};
