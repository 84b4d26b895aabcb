import type { Registry } from "./series.ts";

/** What is counted of the analytics store; `table` is that of the events. */
export interface AnalyticsMetrics {
  readonly written: (table: string, rows: number, milliseconds: number) => void;
  readonly dropped: (table: string, rows: number) => void;
  readonly buffered: (rows: number) => void;
  readonly state: (up: boolean) => void;
  readonly engineDied: () => void;
}

/** @param buckets of durations, in seconds. */
export const createAnalyticsMetrics = (registry: Registry, buckets: readonly number[]): AnalyticsMetrics => {
  const events = registry.counter({
    name: "latchkey_analytics_events_total",
    help: "Events by whether they were written or dropped.",
    labels: ["table", "result"],
  });
  const inserts = registry.histogram(
    { name: "latchkey_analytics_insert_duration_seconds", help: "Duration of inserts of events.", labels: ["table"] },
    buckets,
  );
  const buffered = registry.gauge({
    name: "latchkey_analytics_buffered_events",
    help: "Events that wait to be written.",
    across: "sum",
  });
  const up = registry.gauge({
    name: "latchkey_analytics_up",
    help: "1 while the analytics store answers, 0 while it is away; none before it was needed.",
    across: "min",
  });
  const deaths = registry.counter({
    name: "latchkey_analytics_engine_deaths_total",
    help: "How often the embedded engine ended by itself.",
  });
  // Alerts are for the first of them, too: a series has to begin before it.
  const ended = deaths();
  for (const table of ["key_verifications", "ratelimits"]) events(table, "dropped");
  return {
    written: (table, rows, milliseconds) => {
      events(table, "written")(rows);
      inserts(table)(milliseconds / 1000);
    },
    dropped: (table, rows) => events(table, "dropped")(rows),
    buffered: (rows) => buffered()(rows),
    state: (isUp) => up()(isUp ? 1 : 0),
    engineDied: () => ended(),
  };
};
