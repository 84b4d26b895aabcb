import { type ObservedMetric, observedHeads } from "./observedHeads.ts";
import { type FamilyHead, renderSamples, type Sample } from "./series.ts";

/** Gauges whose values are known elsewhere. */
export interface ObservedMetrics {
  /** Says where a gauge has its values: `read` is asked for them whenever the page is made, and must not wait for anything. */
  readonly observe: (metric: ObservedMetric, read: () => readonly Sample[]) => void;
  /** Those that were told of, each with its head, in Prometheus' text format. */
  readonly render: () => readonly string[];
  /** Of all that there are. */
  readonly heads: readonly FamilyHead[];
}

export const createObservedMetrics = (): ObservedMetrics => {
  const observed = new Map<ObservedMetric, () => readonly Sample[]>();
  return {
    observe: (metric, read) => void observed.set(metric, read),
    render: () => [...observed].map(([metric, read]) => renderSamples(observedHeads[metric], read())),
    heads: Object.values(observedHeads).map((head): FamilyHead => ({ ...head, type: "gauge" })),
  };
};
