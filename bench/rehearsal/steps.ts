import type { Firing } from "./startPrometheus.ts";
import type { CallRecord } from "./steadyLoad.ts";

/** A part of the rehearsal, in milliseconds of `performance.now()`. */
export interface Step {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** What of the promises did not hold, beside calls. */
  readonly problems: readonly string[];
  /** True for a call that may fail: in flight on a node that was killed, or in need of a store that is away. */
  readonly mayFail: (call: CallRecord) => boolean;
}

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1);

/** The calls that ended in this time. */
const callsIn = (calls: readonly CallRecord[], { from, to }: Pick<Step, "from" | "to">): readonly CallRecord[] =>
  calls.filter((call) => call.to !== undefined && call.to >= from && call.to < to);

const isLost = ({ mayFail }: Step, call: CallRecord): boolean => call.failure !== undefined && !mayFail(call);

/** What was promised and did not hold, a sentence each. */
export const brokenPromises = (steps: readonly Step[], calls: readonly CallRecord[]): readonly string[] =>
  steps.flatMap((step) => {
    const lost = callsIn(calls, step).filter((call) => isLost(step, call));
    const shown = lost.slice(0, 5).map(({ id, node, failure }) => `${step.name}: the call ${id} to ${node} failed: ${failure}`);
    return [
      ...step.problems.map((problem) => `${step.name}: ${problem}`),
      ...shown,
      ...(lost.length > 5 ? [`${step.name}: and ${lost.length - 5} more`] : []),
    ];
  });

/** The longest time without an answer that succeeded, of the clients that have the most trouble. */
const longestGap = (calls: readonly CallRecord[], { from, to }: Step): number => {
  const gaps = Map.groupBy(calls, ({ client }) => client)
    .values()
    .map((own) => {
      const ends = own.flatMap((call) => (call.failure === undefined && call.to !== undefined ? [call.to] : [])).sort((a, b) => a - b);
      return Math.max(...[from, ...ends].map((end, i, all) => Math.min(all[i + 1] ?? to, to) - end));
    });
  return Math.max(0, ...gaps);
};

/** The head of the table and a row for each step. */
export const stepRows = (steps: readonly Step[], calls: readonly CallRecord[], firings: readonly Firing[]): string[][] => {
  const header = ["Step", "Seconds", "Calls", "Failed", "Lost", "Sent again", "Longest gap, s", "Alerts fired", "Cleared after, s"];
  const rows = steps.map((step) => {
    const own = callsIn(calls, step);
    const failed = own.filter(({ failure }) => failure !== undefined);
    const fired = firings.filter(({ from }) => from >= step.from && from < step.to);
    return [
      step.name,
      seconds(step.to - step.from),
      own.length,
      failed.length,
      failed.filter((call) => isLost(step, call)).length,
      own.reduce((sum, { again }) => sum + again, 0),
      seconds(longestGap(own, step)),
      fired.map(({ name }) => name.replace("Latchkey", "")).join(", ") || "–",
      fired.map(({ from, to }) => (to === undefined ? "never" : seconds(to - from))).join(", ") || "–",
    ].map(String);
  });
  return [header, ...rows];
};

/** The same calls by client. */
export const clientRows = (steps: readonly Step[], calls: readonly CallRecord[]): string[][] => {
  const clients = [...new Set(calls.map(({ client }) => client))];
  const rows = steps.map((step) => {
    const own = callsIn(calls, step);
    return [
      step.name,
      ...clients.map((client) => {
        const its = own.filter((call) => call.client === client);
        return `${its.length} / ${its.filter(({ failure }) => failure !== undefined).length}`;
      }),
    ];
  });
  return [["Calls / failed", ...clients], ...rows];
};
