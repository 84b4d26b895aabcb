/** The items in their order, in runs that weigh `limit` at most; an item that weighs more is a run of its own. */
export const chunks = <T>(items: readonly T[], limit: number, weigh: (item: T) => number = () => 1): (readonly T[])[] => {
  const runs: T[][] = [];
  let weight = Number.POSITIVE_INFINITY;
  for (const item of items) {
    weight += weigh(item);
    const last = runs.at(-1);
    if (last !== undefined && weight <= limit) {
      last.push(item);
    } else {
      runs.push([item]);
      weight = weigh(item);
    }
  }
  return runs;
};
