import type { TracingConfig } from "../platform/config/tracingVariables.ts";
import { version } from "../platform/config/version.ts";
import type { Events } from "../platform/telemetry/events.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/tracing/tracer.ts";

/** Traces for the configured collector. Nothing of OpenTelemetry is loaded before. */
export const openTracing = async (
  { headers, ...config }: TracingConfig,
  metrics: Pick<Metrics, "spans">,
  events: Pick<Events, "spansDropped">,
): Promise<Tracer> => {
  const { openTracer } = await import("../platform/telemetry/tracing/openTracer.ts");
  return openTracer({
    ...config,
    version,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])),
    onExported: (spans) => metrics.spans("exported", spans),
    onDropped: (spans, cause) => {
      metrics.spans("dropped", spans);
      events.spansDropped(spans, cause);
    },
  });
};
