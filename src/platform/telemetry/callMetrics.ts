import { isServiceFault, type Reason } from "../base/errors.ts";
import { memoize } from "./memoize.ts";
import type { Registry } from "./series.ts";

/** How a call ended: `ok`, or the reason of its error. */
export type CallOutcome = "ok" | Reason;

/** By which protocol a call came. */
export type EdgeName = "v2" | "grpc" | "grpc-web" | "connect" | "console";

/** What calls are timed as: those of one kind take about as long as each other. */
export type CallKind = "verify" | "limit" | "read" | "change" | "analytics";

/** A procedure as calls of it are counted. */
export interface CountedProcedure {
  /** Such as `keys.verifyKey`. */
  readonly name: string;
  readonly kind: CallKind;
}

/** What is counted of calls. Durations are in milliseconds. */
export interface CallMetrics {
  /** Binds the recorder of one procedure. */
  readonly calls: (procedure: CountedProcedure) => (edge: EdgeName, outcome: CallOutcome, milliseconds: number) => void;
  /** Counts a call that an edge refused; it has no duration. @param procedure undefined where the address names none. */
  readonly refused: (edge: EdgeName, procedure: CountedProcedure | undefined, reason: Reason) => void;
  /** Counts an answer that says that it is degraded. */
  readonly degraded: (what: string) => void;
}

const NONE = { name: "none", kind: "none" } as const;

const statusOf = (outcome: CallOutcome): string => (outcome === "ok" ? "2xx" : isServiceFault(outcome) ? "5xx" : "4xx");

/**
 * Calls are counted by edge and kind, and by procedure, never by both: there are a hundred procedures, and a line for each of them
 * on each edge with each outcome would be a page that nobody wants to scrape. Buckets are by edge and kind alone; of a
 * procedure there is the mean.
 * @param buckets of durations, in seconds.
 */
export const createCallMetrics = (registry: Registry, buckets: readonly number[]): CallMetrics => {
  const total = registry.counter({
    name: "latchkey_calls_total",
    help: "Calls by edge, kind, outcome (ok, or the reason of the error) and class of the HTTP status.",
    labels: ["edge", "kind", "outcome", "status"],
  });
  const durations = registry.histogram(
    {
      name: "latchkey_call_duration_seconds",
      help: "Duration of calls by edge and kind, from the request's headers to its answer.",
      labels: ["edge", "kind"],
    },
    buckets,
  );
  const procedures = registry.summary({
    name: "latchkey_procedure_duration_seconds",
    help: "Sum and number of the durations of calls, by procedure and outcome, on all edges.",
    labels: ["procedure", "outcome"],
  });
  const degraded = registry.counter({
    name: "latchkey_degraded_answers_total",
    help: "Answers given without the store, by what may lack recent changes: verification or ratelimits.",
    labels: ["what"],
  });
  const ofDegraded = memoize((what: string) => degraded(what));
  for (const what of ["verification", "ratelimits"]) ofDegraded(what);
  const count = (edge: EdgeName, kind: string, outcome: CallOutcome) => total(edge, kind, outcome, statusOf(outcome));
  const ofRefused = memoize((edge: EdgeName) => memoize((kind: string) => memoize((reason: Reason) => count(edge, kind, reason))));
  const ofRefusedProcedure = memoize((name: string) => memoize((reason: Reason) => procedures(name, reason)));

  return {
    calls: ({ name, kind }) => {
      const ofEdge = memoize((edge: EdgeName) => {
        const duration = durations(edge, kind);
        return memoize((outcome: CallOutcome) => {
          const add = count(edge, kind, outcome);
          const ofProcedure = procedures(name, outcome);
          return (seconds: number): void => {
            add();
            duration(seconds);
            ofProcedure(seconds);
          };
        });
      });
      return (edge, outcome, milliseconds) => ofEdge(edge)(outcome)(milliseconds / 1000);
    },
    refused: (edge, procedure, reason) => {
      const { name, kind } = procedure ?? NONE;
      ofRefused(edge)(kind)(reason)();
      ofRefusedProcedure(name)(reason)(0);
    },
    degraded: (what) => ofDegraded(what)(),
  };
};
