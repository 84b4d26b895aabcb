/** Members of a message, parted into those that its fixed part settles and those that vary. */
export interface Halves<T> {
  readonly fixed: readonly T[];
  readonly varying: readonly T[];
}

/**
 * Parts the members of a message by the names of those that vary. The answer is kept per array of names, which is one
 * for all fixed parts of a kind.
 */
export const partingInHalves = <T extends { readonly name: string }>(
  members: readonly T[],
): ((varying: readonly string[]) => Halves<T>) => {
  const known = new Map<readonly string[], Halves<T>>();
  return (names) => {
    let halves = known.get(names);
    if (halves === undefined) {
      const half = (varies: boolean) => members.filter(({ name }) => names.includes(name) === varies);
      halves = { fixed: half(false), varying: half(true) };
      known.set(names, halves);
    }
    return halves;
  };
};
