import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../domain/clock.ts";
import { type CounterPlace, comparePlaces, placeOfKey } from "../domain/counterKey.ts";

/** Counters that one turn of the event loop looks at, and sorts: some 2 ms. */
const SLICE = 4_096;
/** What was sorted is shared for so many times as long as that took, so that sorting never takes much of the thread. */
const SHARED_FOR = 20;
/** But no longer than this: a counter is shown within 5 s (management §8). */
const MOST_SHARED_MS = 2_000;

/** The keys of those counters in memory that begin with `keys`; see `RecentCounters`. */
export type RecentKeys = (keys: string) => Promise<readonly (readonly string[])[]>;

interface Sorted {
  readonly runs: Promise<readonly (readonly string[])[]>;
  /** Monotonic ms; while it is made, never. */
  until: number;
}

/**
 * Sorts keys when somebody asks, in slices and one namespace after the other: whoever counts neither waits for it nor keeps
 * anything in order.
 * @param counters in memory, in the order in which they came there.
 */
export const createRecentKeys = (
  counters: Pick<ReadonlyMap<string, unknown>, "size" | "keys">,
  clock: Pick<Clock, "monotonic">,
): RecentKeys => {
  const sorted = new Map<string, Sorted>();
  let last: Promise<unknown> = Promise.resolve();

  const sort = async (keys: string): Promise<readonly (readonly string[])[]> => {
    const runs: (readonly string[])[] = [];
    let places: (CounterPlace & { readonly key: string })[] = [];
    const endRun = (): void => {
      if (places.length > 0) runs.push(places.sort(comparePlaces).map(({ key }) => key));
      places = [];
    };
    // Those that come meanwhile are for the next time.
    let rest = counters.size;
    let looked = 0;
    for (const key of counters.keys()) {
      if (rest-- === 0) break;
      if (key.startsWith(keys)) places.push({ key, ...placeOfKey(keys, key) });
      if (++looked % SLICE !== 0) continue;
      // A long run for many short ones: each costs whoever reads them.
      if (places.length >= SLICE / 2) endRun();
      await nextTurn();
    }
    endRun();
    return runs;
  };

  const forget = (keys: string, entry: Sorted): void => {
    if (sorted.get(keys) === entry) sorted.delete(keys);
  };

  const begin = (keys: string): Sorted => {
    let begun = 0;
    const runs = last.then(() => {
      begun = clock.monotonic();
      return sort(keys);
    });
    const entry: Sorted = { runs, until: Number.POSITIVE_INFINITY };
    sorted.set(keys, entry);
    last = runs.then(
      () => {
        const took = clock.monotonic() - begun;
        const shared = Math.min(MOST_SHARED_MS - took, SHARED_FOR * took);
        entry.until = begun + took + shared;
        setTimeout(forget, shared, keys, entry).unref();
      },
      () => forget(keys, entry),
    );
    return entry;
  };

  return (keys) => {
    const known = sorted.get(keys);
    return (known !== undefined && clock.monotonic() < known.until ? known : begin(keys)).runs;
  };
};
