import { median } from "../median.ts";

/** What one round measured of one revision. */
export interface Round {
  readonly perSecond: number;
  /** CPU time of the server for one call, in microseconds. */
  readonly cpu: number;
  readonly errors: number;
}

/** A row of the comparison; figures of each revision are medians of its rounds. */
export interface ComparedRow {
  readonly perSecond: { readonly before: number; readonly after: number };
  readonly cpu: { readonly before: number; readonly after: number };
  /** Medians of the ratios of the rounds; above 1 where `after` is better: it does more calls, or spends less on each. */
  readonly ratio: { readonly perSecond: number; readonly cpu: number };
  readonly errors: number;
}

/** Compares two revisions that were measured in alternation: the rounds of the same index belong together. */
export const compareRounds = (before: readonly Round[], after: readonly Round[]): ComparedRow => {
  const medians = (field: "perSecond" | "cpu") => ({
    before: median(before.map((round) => round[field])),
    after: median(after.map((round) => round[field])),
  });
  const ratio = (of: (before: Round, after: Round) => number): number =>
    median(after.map((round, i) => of(before[i] ?? { perSecond: Number.NaN, cpu: Number.NaN, errors: 0 }, round)));
  return {
    perSecond: medians("perSecond"),
    cpu: medians("cpu"),
    ratio: { perSecond: ratio((one, other) => other.perSecond / one.perSecond), cpu: ratio((one, other) => one.cpu / other.cpu) },
    errors: [...before, ...after].reduce((sum, { errors }) => sum + errors, 0),
  };
};
