/** Kinds that are told apart at the same time; all further ones are one kind. */
const MOST_KINDS = 20;

export interface Repeats<T> {
  /** Something happened (again). */
  readonly happened: (facts: T) => void;
  /** Tells at once what was only counted so far. */
  readonly flush: () => void;
}

export interface RepeatsOptions<T> {
  /** Milliseconds. */
  readonly interval: number;
  /** What makes two of them the same thing to a reader. */
  readonly kindOf: (facts: T) => string;
  readonly first: (facts: T) => void;
  /** @param count how many came since the last time that this kind was told of. @param last the latest of them. */
  readonly more: (last: T, count: number) => void;
}

/**
 * Tells what happens for the first time at once, and of the same thing within an interval only how often it happened:
 * whoever can make something fail could else fill the disk. Whatever happens, at most 42 lines come of it in one interval.
 */
export const createRepeats = <T>({ interval, kindOf, first, more }: RepeatsOptions<T>): Repeats<T> => {
  const kinds = new Map<string, { last: T; count: number }>();

  const flush = (): void => {
    for (const [name, kind] of kinds) {
      if (kind.count === 0) kinds.delete(name);
      else {
        more(kind.last, kind.count);
        kind.count = 0;
      }
    }
  };
  const flushUntilQuiet = (): void => {
    flush();
    if (kinds.size > 0) setTimeout(flushUntilQuiet, interval).unref();
  };

  return {
    flush,
    happened: (facts) => {
      const own = kindOf(facts);
      const name = kinds.has(own) || kinds.size < MOST_KINDS ? own : "";
      const kind = kinds.get(name);
      if (kind !== undefined) {
        kind.last = facts;
        kind.count++;
        return;
      }
      if (kinds.size === 0) setTimeout(flushUntilQuiet, interval).unref();
      kinds.set(name, { last: facts, count: 0 });
      first(facts);
    },
  };
};
