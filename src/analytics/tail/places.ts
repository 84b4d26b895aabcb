/** Places of those who wait. */
export interface Places {
  /** Undefined when there is none; else what gives it back, once. */
  readonly take: (owner: string) => (() => void) | undefined;
  readonly taken: () => number;
}

/** @param most of one owner, and of all together. */
export const createPlaces = (most: { readonly each: number; readonly all: number }): Places => {
  const owners = new Map<string, number>();
  let taken = 0;
  return {
    take: (owner) => {
      const own = owners.get(owner) ?? 0;
      if (own >= most.each || taken >= most.all) return undefined;
      owners.set(owner, own + 1);
      taken++;
      let isGiven = false;
      return () => {
        if (isGiven) return;
        isGiven = true;
        taken--;
        const left = (owners.get(owner) ?? 1) - 1;
        if (left === 0) owners.delete(owner);
        else owners.set(owner, left);
      };
    },
    taken: () => taken,
  };
};
