import { systemClock } from "../../platform/base/clock.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { Counters } from "../../platform/storage/port/counters.ts";
import { StoreUnavailableError } from "../../platform/storage/port/errors.ts";
import { chunks } from "../../platform/util/chunks.ts";
import { type CounterPlace, comparePlaces, placeOfKey } from "./counterKey.ts";
import type { CounterWalk, ListedCounter } from "./counterWalk.ts";

/** More than one page looks at: one pass over the keys is enough for it. */
const KEPT = 1_001;
/** Counters that are read at the same time. */
const READ_AT_ONCE = 100;
/** A call is answered within five seconds (protocol §9). */
const LONGEST_PASS_MS = 4_000;

interface Place extends CounterPlace {
  readonly key: string;
}

/** The first `KEPT` of the places that are wanted, of all that `scan` finds. */
const firstPlaces = async (
  scan: NonNullable<Counters["scan"]>,
  keys: string,
  isWanted: (place: CounterPlace) => boolean,
  { signal }: OperationOptions,
): Promise<readonly Place[]> => {
  let kept = new Map<string, Place>();
  const firstOfKept = (): Place[] => [...kept.values()].sort(comparePlaces).slice(0, KEPT);
  /** The last place of those that were kept when there were too many. */
  let bound: Place | undefined;
  const giveUpAt = systemClock.monotonic() + LONGEST_PASS_MS;
  let cursor: string | undefined;
  do {
    signal?.throwIfAborted();
    if (systemClock.monotonic() > giveUpAt) throw new StoreUnavailableError("there are too many counters to list", { tooSlow: true });
    const step = await scan(keys, cursor);
    for (const key of step.keys) {
      const place = { key, ...placeOfKey(keys, key) };
      if (isWanted(place) && (bound === undefined || comparePlaces(place, bound) <= 0)) kept.set(key, place);
    }
    if (kept.size >= 2 * KEPT) {
      const first = firstOfKept();
      bound = first.at(-1);
      kept = new Map(first.map((place) => [place.key, place]));
    }
    cursor = step.next;
  } while (cursor !== undefined);
  return firstOfKept();
};

/**
 * The counters of a namespace, of an engine that keeps its keys in no order, in the order of `comparePlaces`. Each thousand of them
 * takes one pass over all keys that the engine has. Rejects with `StoreUnavailableError` when one takes longer than four seconds.
 */
export async function* scanCounters(
  { read, scan }: Pick<Counters, "read"> & { readonly scan: NonNullable<Counters["scan"]> },
  keys: string,
  { prefix, from, lengths }: CounterWalk,
  options: OperationOptions,
): AsyncGenerator<ListedCounter, void, undefined> {
  const begin = prefix.toWellFormed();
  let after: CounterPlace | undefined;
  const isWanted = (place: CounterPlace): boolean =>
    place.identifier.startsWith(begin) &&
    (lengths.after === undefined || place.duration > lengths.after) &&
    (lengths.until === undefined || place.duration <= lengths.until) &&
    (from === undefined || comparePlaces(place, from) >= 0) &&
    (after === undefined || comparePlaces(place, after) > 0);
  for (;;) {
    const places = await firstPlaces(scan, keys, isWanted, options);
    for (const some of chunks(places, READ_AT_ONCE)) {
      const counters = await Promise.all(some.map(({ key }) => read(key, options)));
      for (const [i, place] of some.entries()) {
        const shared = counters[i] ?? null;
        if (shared !== null) yield { ...place, shared };
      }
    }
    if (places.length < KEPT) return;
    after = places.at(-1);
  }
}
