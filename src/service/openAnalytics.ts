import { join } from "node:path";
import { type Analytics, createAnalytics } from "../features/analytics/createAnalytics.ts";
import { engineMissing, isEngineInstalled } from "../features/analytics/embedded/isEngineInstalled.ts";
import type { Limiter } from "../features/ratelimit/limiter.ts";
import type { Clock } from "../platform/base/clock.ts";
import type { Config } from "../platform/config/loadConfig.ts";
import { WORKSPACE_ID } from "../platform/storage/port/baseDocument.ts";
import type { Events } from "../platform/telemetry/events.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { TraceOperation } from "../platform/telemetry/tracing/tracer.ts";

export interface OpenAnalyticsOptions {
  readonly config: Config;
  readonly clock: Clock;
  /** One that nobody turns. */
  readonly commonClock: Clock;
  readonly limiter: Limiter;
  readonly metrics: Metrics;
  readonly events: Events;
  readonly expire: boolean;
  /** Undefined where nothing is traced. */
  readonly trace: TraceOperation | undefined;
}

export interface OpenedAnalytics {
  /** Undefined where there is none. */
  readonly analytics: Analytics | undefined;
  /** Why there is none, where there is none. */
  readonly analyticsAbsence: string;
}

/** Opens the configured analytics store, if there is one and its optional library is installed. */
export const openAnalytics = (options: OpenAnalyticsOptions): OpenedAnalytics => {
  const { config, clock, commonClock, limiter, metrics, events, expire, trace } = options;
  const { analytics, dataDir } = config;
  const analyticsAbsence = "ANALYTICS is off, or MONGODB_URL is set without CLICKHOUSE_URL";
  if (!analytics) return { analytics: undefined, analyticsAbsence };
  if (analytics.clickhouseUrl === undefined && !isEngineInstalled()) {
    events.analyticsEngineMissing(engineMissing);
    return { analytics: undefined, analyticsAbsence: engineMissing };
  }
  const opened = createAnalytics({
    ...analytics,
    clock,
    commonClock,
    limiter,
    workspaceId: WORKSPACE_ID,
    directory: join(dataDir, "analytics"),
    expire,
    trace,
    observer: {
      ...metrics.analytics,
      state: (up, cause) => {
        metrics.analytics.state(up);
        if (up) events.analyticsBack();
        else events.analyticsAway(cause);
      },
      engineDied: (reason) => {
        metrics.analytics.engineDied();
        events.analyticsEngineDied(reason);
      },
      isolationLeaks: events.analyticsIsolationLeaks,
      dropsReported: events.analyticsEventsDropped,
    },
  });
  return { analytics: opened, analyticsAbsence };
};
