/** Indexes of values without a neighbour: a line through one value is invisible, so the chart draws a point. */
export const loneValues = (values: ArrayLike<number | null | undefined>): number[] =>
  Array.from(values).flatMap((value, index) =>
    (value ?? undefined) !== undefined && (values[index - 1] ?? undefined) === undefined && (values[index + 1] ?? undefined) === undefined
      ? [index]
      : [],
  );
