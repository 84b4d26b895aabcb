import { join } from "node:path";
import { type Analytics, createAnalytics } from "../analytics/createAnalytics.ts";
import { isEngineInstalled } from "../analytics/embedded/isEngineInstalled.ts";
import type { Config } from "../config/loadConfig.ts";
import type { Clock } from "../domain/clock.ts";
import type { Limiter } from "../ratelimit/limiter.ts";
import { WORKSPACE_ID } from "../storage/port/baseDocument.ts";
import type { Events } from "../telemetry/events.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { TraceOperation } from "../telemetry/tracing/tracer.ts";

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

/** The configured analytics store; undefined when there is none, or its optional library is not installed. */
export const openAnalytics = (options: OpenAnalyticsOptions): Analytics | undefined => {
  const { config, clock, commonClock, limiter, metrics, events, expire, trace } = options;
  const { analytics, dataDir } = config;
  if (!analytics || (analytics.clickhouseUrl === undefined && !isEngineInstalled())) return undefined;
  return createAnalytics({
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
};
