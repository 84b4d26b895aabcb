import type { Across } from "./series.ts";

/** Handles and requests that node has open: the library calls these gauges `_total`, which is a counter's name. */
const LEFT_OUT = [
  "nodejs_active_handles",
  "nodejs_active_handles_total",
  "nodejs_active_requests",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** How the library's gauges of several processes become one. */
export const acrossProcesses = (name: string): Across => {
  if (name === "process_start_time_seconds" || name === "nodejs_eventloop_lag_min_seconds") return "min";
  return name.startsWith("nodejs_eventloop_") || name === "nodejs_version_info" ? "max" : "sum";
};

/** What Node and the operating system know of this process, in Prometheus' text format; measured from the first use on. */
export const createProcessMetrics = (): (() => Promise<string>) => {
  let registry: Promise<{ metrics(): Promise<string> }> | undefined;
  const start = async (): Promise<{ metrics(): Promise<string> }> => {
    // The library imports OpenTelemetry's API, of which a start without a collector loads nothing.
    const { collectDefaultMetrics, Registry } = await import("prom-client");
    const own = new Registry();
    collectDefaultMetrics({ register: own });
    for (const name of LEFT_OUT) own.removeSingleMetric(name);
    return own;
  };
  return async () => {
    registry ??= start();
    return (await registry).metrics();
  };
};
