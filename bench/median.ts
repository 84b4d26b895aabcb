/** The middle one of some numbers; NaN of none. */
export const median = (all: readonly number[]): number => percentile(all, 0.5);

/** The number below which this share of them lies; NaN of none. */
export const percentile = (all: readonly number[], share: number): number =>
  [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * share))] ?? Number.NaN;
