import { createCounter, createGauge, createHistogram, type Family } from "./series.ts";

/** What is counted of the analytics store; `table` is that of the events. */
export interface AnalyticsMetrics {
  readonly written: (table: string, rows: number, milliseconds: number) => void;
  readonly dropped: (table: string, rows: number) => void;
  readonly buffered: (rows: number) => void;
  readonly state: (up: boolean) => void;
  readonly engineDied: () => void;
}

/** @param buckets of durations, in seconds. */
export const createAnalyticsMetrics = (
  buckets: readonly number[],
): { readonly families: readonly Family<unknown>[]; readonly metrics: AnalyticsMetrics } => {
  const events = createCounter({
    name: "latchkey_analytics_events_total",
    help: "Events by whether they were written or dropped.",
    labels: ["table", "result"],
  });
  const inserts = createHistogram(
    { name: "latchkey_analytics_insert_duration_seconds", help: "Duration of inserts of events.", labels: ["table"] },
    buckets,
  );
  const buffered = createGauge({
    name: "latchkey_analytics_buffered_events",
    help: "Events that wait to be written.",
    labels: [],
    across: "sum",
  });
  const up = createGauge({
    name: "latchkey_analytics_up",
    help: "1 while the analytics store answers, 0 while it is away; none before it was needed.",
    labels: [],
    across: "min",
  });
  const deaths = createCounter({
    name: "latchkey_analytics_engine_deaths_total",
    help: "How often the embedded engine ended by itself.",
    labels: [],
  });
  // Alerts are for the first of them, too: a series has to begin before it.
  const ended = deaths.bind();
  for (const table of ["key_verifications", "ratelimits"]) events.bind(table, "dropped");
  return {
    families: [events, inserts, buffered, up, deaths],
    metrics: {
      written: (table, rows, milliseconds) => {
        events.bind(table, "written")(rows);
        inserts.bind(table)(milliseconds / 1000);
      },
      dropped: (table, rows) => events.bind(table, "dropped")(rows),
      buffered: (rows) => buffered.bind()(rows),
      state: (isUp) => up.bind()(isUp ? 1 : 0),
      engineDied: () => ended(),
    },
  };
};
