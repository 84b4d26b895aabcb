/** Where a line has a value without one beside it: a point has to be drawn there, or nothing shows. */
export const loneValues = (values: ArrayLike<number | null | undefined>): number[] =>
  Array.from(values).flatMap((value, index) =>
    (value ?? undefined) !== undefined && (values[index - 1] ?? undefined) === undefined && (values[index + 1] ?? undefined) === undefined
      ? [index]
      : [],
  );
