/** Members of a message: those that its fixed part settles, and those that vary. */
interface SplitMembers<T> {
  readonly fixed: readonly T[];
  readonly varying: readonly T[];
}

/**
 * Splits the members of a message by the names of those that vary. What it found is kept for each array of names, which is one
 * for all fixed parts of a kind.
 */
export const splitMembers = <T extends { readonly name: string }>(
  members: readonly T[],
): ((varying: readonly string[]) => SplitMembers<T>) => {
  const known = new Map<readonly string[], SplitMembers<T>>();
  return (names) => {
    let found = known.get(names);
    if (found === undefined) {
      const membersThat = (vary: boolean) => members.filter(({ name }) => names.includes(name) === vary);
      found = { fixed: membersThat(false), varying: membersThat(true) };
      known.set(names, found);
    }
    return found;
  };
};
