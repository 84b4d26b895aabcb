import { createObservedMetrics, type ObservedMetrics } from "./observedMetrics.ts";
import { createProcessMetrics } from "./processMetrics.ts";
import { createCounter, createGauge, type FamilyHead } from "./series.ts";
import { createTlsClientMetrics, type TlsClientMetrics } from "./tlsClientMetrics.ts";

/** What the primary process counts: of the workers of its service, and of the admin port, which is its own. */
export interface WorkerMetrics extends TlsClientMetrics, Pick<ObservedMetrics, "observe"> {
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
  const workers = createGauge({
    name: "latchkey_workers",
    help: "Worker processes of this service: wanted (WORKERS), and of these ready; none with WORKERS=1.",
    labels: ["state"],
    across: "sum",
  });
  const deaths = createCounter({
    name: "latchkey_worker_deaths_total",
    help: "Worker processes that ended by themselves, and were replaced; none with WORKERS=1.",
    labels: [],
  });
  workers.bind("wanted")(wanted);
  const ready = workers.bind("ready");
  const died = deaths.bind();
  const observed = createObservedMetrics();
  const tlsClients = createTlsClientMetrics();
  const processMetrics = createProcessMetrics();
  return {
    ...tlsClients.metrics,
    observe: observed.observe,
    ready,
    died: () => died(),
    heads: [workers.head, deaths.head],
    render: async () => {
      const counted = [workers, deaths, ...tlsClients.families].map((family) => family.render());
      return [...counted, ...observed.render(), await processMetrics()].join("\n\n");
    },
  };
};
