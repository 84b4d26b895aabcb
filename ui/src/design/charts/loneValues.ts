/** Where a line has a value without one beside it: a point has to be drawn there, or nothing shows. */
export const loneValues = (values: readonly (number | undefined)[]): number[] =>
  values.flatMap((value, index) =>
    value !== undefined && values[index - 1] === undefined && values[index + 1] === undefined ? [index] : [],
  );
