import type { UsageLines } from "../../data/figures/usageRows.ts";

/** Events of one outcome in the whole range. */
export interface OutcomeTotal {
  readonly outcome: string;
  readonly count: number;
}

/** How often each reason denied, the most frequent first. */
export interface Outcomes {
  readonly total: number;
  readonly denied: number;
  readonly reasons: readonly OutcomeTotal[];
}

const valid = "VALID";

const sum = (values: readonly (number | undefined)[]): number => values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** Counts what was verified and denied, from lines by outcome. */
export const countOutcomes = ({ series }: UsageLines): Outcomes => {
  const totals = series.map(({ name, values }) => ({ outcome: name, count: sum(values) }));
  const reasons = totals.filter(({ outcome, count }) => outcome !== valid && count > 0).sort((one, other) => other.count - one.count);
  return { total: sum(totals.map(({ count }) => count)), denied: sum(reasons.map(({ count }) => count)), reasons };
};

/** The lines of those that were denied. */
export const denialLines = ({ times, series }: UsageLines): UsageLines => ({
  times,
  series: series.filter(({ name, values }) => name !== valid && sum(values) > 0),
});

/** Three figures that count, none of them rounded away. */
const rounded = (rate: number): number => Number(rate.toPrecision(3));

/**
 * Counts by interval as rates: verifications that passed and that were denied, each a second.
 * @param step ms of an interval
 * @param now Unix ms: the interval that runs is divided by what has passed of it; later ones have no rate
 */
export const rateLines = ({ times, series }: UsageLines, step: number, now: number): UsageLines => {
  const rates = (names: (name: string) => boolean): readonly (number | undefined)[] =>
    times.map((time, index) => {
      const seconds = Math.min(step, now - time) / 1000;
      if (seconds <= 0) return undefined;
      return rounded(sum(series.filter(({ name }) => names(name)).map(({ values }) => values[index])) / seconds);
    });
  return {
    times,
    series: [
      { name: "valid", values: rates((name) => name === valid) },
      { name: "denied", values: rates((name) => name !== valid) },
    ],
  };
};
