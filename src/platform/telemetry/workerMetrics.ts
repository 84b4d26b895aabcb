import { type Observed, observedHeads } from "./observedHeads.ts";
import { createProcessMetrics } from "./processMetrics.ts";
import { createRegistry, type FamilyHead } from "./series.ts";
import { createTlsClientMetrics, type TlsClientMetrics } from "./tlsClientMetrics.ts";

/** What the primary process counts: of the workers of its service, and of the admin port, which is its own. */
export interface WorkerMetrics extends TlsClientMetrics, Observed {
  readonly ready: (count: number) => void;
  /** A worker ended by itself. */
  readonly died: () => void;
  /** Of those that no worker has. */
  readonly heads: readonly FamilyHead[];
  /** With the measurements of this process, in Prometheus' text format. */
  readonly render: () => Promise<string>;
}

/** @param wanted `WORKERS`. */
export const createWorkerMetrics = (wanted: number): WorkerMetrics => {
  const registry = createRegistry();
  const workers = registry.gauge({
    name: "latchkey_workers",
    help: "Worker processes of this service: wanted (WORKERS), and of these ready; none with WORKERS=1.",
    labels: ["state"],
    across: "sum",
  });
  const deaths = registry.counter({
    name: "latchkey_worker_deaths_total",
    help: "Worker processes that ended by themselves, and were replaced; none with WORKERS=1.",
  });
  workers("wanted")(wanted);
  const ready = workers("ready");
  const died = deaths();
  const heads = registry.heads();
  const processMetrics = createProcessMetrics();
  return {
    ...createTlsClientMetrics(registry),
    observe: (metric, read) => registry.observe(observedHeads[metric], read),
    ready,
    died: () => died(),
    heads,
    render: async () => `${registry.render()}\n\n${await processMetrics()}`,
  };
};
