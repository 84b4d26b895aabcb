import { createCounter, createGauge, type Family } from "./series.ts";

/** What the primary process counts of the workers of its service. */
export interface WorkerMetrics {
  readonly ready: (count: number) => void;
  /** A worker ended by itself. */
  readonly died: () => void;
  readonly families: readonly Family<unknown>[];
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
  return { ready, died: () => died(), families: [workers, deaths] };
};
