import { setImmediate as nextTurn } from "node:timers/promises";
import { type CounterPlace, comparePlaces, counterKeysOf, placeOfKey } from "../../domain/counterKey.ts";
import { chunks } from "../../util/chunks.ts";
import type { Filter, OperationOptions } from "../port/collection.ts";
import type { RecentCounters, SharedCounter } from "../port/counters.ts";
import type { CounterDocument } from "../port/documents.ts";
import type { Store } from "../port/store.ts";
import { beginningWith } from "../port/textRange.ts";
import { createCountersRepository } from "./countersRepository.ts";

/** A counter of a namespace, as the store has it. */
export interface ListedCounter extends CounterPlace {
  readonly key: string;
  readonly shared: SharedCounter;
}

export interface CounterWalk {
  readonly namespaceId: string;
  /** See `counterKeysOf`. */
  readonly run: string;
  /** What the identifiers begin with. */
  readonly prefix: string;
  /** Where to begin; undefined: with the first. */
  readonly from: CounterPlace | undefined;
  /** How many are wanted, as far as one can say beforehand. */
  readonly wanted: number;
}

export interface CounterListRepository {
  /**
   * The counters of a namespace in the order of `comparePlaces`, each once. What exists throughout comes, and with the
   * counts that it has when it does; reads one range of the keys for each length of window that the namespace has, as far as
   * somebody goes on.
   */
  readonly walk: (walk: CounterWalk, options?: OperationOptions) => AsyncGenerator<ListedCounter, void, undefined>;
}

/** Counters that one turn of the event loop puts in order. */
const IN_ONE_TURN = 100;
/** What is taken of a run at once: a page has some of each. */
const PART = 8;
/** Of the lengths of windows so many are asked at once. */
const ASKED_AT_ONCE = 8;
/** What is read at first of all lengths together, as long as it is some of each. */
const READ_AT_FIRST = 1_000;
const LEAST_READ = 10;

/** One that was found: with its counts, unless it is in memory. */
interface Found extends CounterPlace {
  readonly key: string;
  readonly shared: SharedCounter | undefined;
}

/** Counters in order; `more` reads what comes behind those that are there. */
interface Source {
  found: readonly Found[];
  next: number;
  more: (() => Promise<readonly Found[]>) | undefined;
}

/** The first of a run that is not before the place. */
const lowerBound = (keys: string, run: readonly string[], place: CounterPlace): number => {
  let [low, high] = [0, run.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (comparePlaces(placeOfKey(keys, run[middle] ?? ""), place) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Parts of a run, as somebody goes on. */
const sourceOfRun = (keys: string, run: readonly string[], from: CounterPlace, prefix: string): Source => {
  let at = lowerBound(keys, run, from);
  const source: Source = { found: [], next: 0, more: undefined };
  source.more = async () => {
    const part = run.slice(at, at + PART).map((key): Found => ({ key, ...placeOfKey(keys, key), shared: undefined }));
    at += part.length;
    const found = part.filter(({ identifier }) => identifier.startsWith(prefix));
    if (found.length < PART) source.more = undefined;
    return found;
  };
  return source;
};

/** Has the source have one to give, if there is one. */
const fill = async (source: Source): Promise<void> => {
  while (source.next === source.found.length && source.more !== undefined) {
    source.found = await source.more();
    source.next = 0;
  }
};

/** Counters of rate limits as a namespace's list shows them (management §3). Nothing is kept in order for it. */
export const createCounterListRepository = (store: Store): CounterListRepository => {
  const counters = createCountersRepository(store);
  const stored = store.collection("counters");

  const readRange = (range: Filter<CounterDocument>["_id"] & object, limit: number, { signal, caller }: OperationOptions) =>
    stored.find({ _id: range }, { signal, caller, sort: { _id: 1 }, limit }).toArray();

  /** The lengths of windows that the namespace has counters of: one look at the keys for each. */
  const durationsOf = async (keys: string, options: OperationOptions): Promise<number[]> => {
    const durations: number[] = [];
    const range = beginningWith(keys);
    for (let from = range.$gte; ; ) {
      const [first] = await readRange({ ...range, $gte: from }, 1, options);
      if (first === undefined) return durations;
      const { duration } = placeOfKey(keys, first._id);
      durations.push(duration);
      // What comes behind all that begins with `1000:`.
      from = `${keys}${duration};`;
    }
  };

  const sourceOfDuration = (
    keys: string,
    duration: number,
    { prefix, from }: Pick<CounterWalk, "prefix" | "from">,
    limit: number,
    options: OperationOptions,
  ): Source => {
    const start = `${keys}${duration}:`;
    const { $gte: first, ...until } = beginningWith(start + prefix);
    const behind = from !== undefined && duration < from.duration;
    let range: Filter<CounterDocument>["_id"] & object =
      from === undefined ? { $gte: first, ...until } : { [behind ? "$gt" : "$gte"]: start + from.identifier.toWellFormed(), ...until };
    const source: Source = { found: [], next: 0, more: undefined };
    source.more = async () => {
      const rows = await readRange(range, limit, options);
      const last = rows.at(-1);
      if (last === undefined || rows.length < limit) source.more = undefined;
      else range = { $gt: last._id, ...until };
      return rows.map(({ _id, seq, current, previous }) => ({ key: _id, ...placeOfKey(keys, _id), shared: { seq, current, previous } }));
    };
    return source;
  };

  const open = async (walk: CounterWalk, options: OperationOptions, recent: RecentCounters | undefined): Promise<Source[]> => {
    const keys = counterKeysOf(walk.namespaceId, walk.run);
    const prefix = walk.prefix.toWellFormed();
    const from = walk.from ?? { identifier: prefix, duration: 0 };
    const durations = await durationsOf(keys, options);
    const limit = Math.min(walk.wanted, Math.max(LEAST_READ, Math.ceil(READ_AT_FIRST / durations.length)));
    const sources = [
      ...(recent?.runs ?? []).map((run) => sourceOfRun(keys, run, from, prefix)),
      ...durations.map((duration) => sourceOfDuration(keys, duration, { prefix, from: walk.from }, limit, options)),
    ];
    for (const some of chunks(sources, ASKED_AT_ONCE)) await Promise.all(some.map(fill));
    return sources;
  };

  return {
    walk: async function* (walk, options = {}) {
      // Before the collection: what goes there leaves memory afterwards.
      const recent = await counters.recent?.(counterKeysOf(walk.namespaceId, walk.run));
      const sources = await open(walk, options, recent);
      let last: Found | undefined;
      for (let looked = 1; ; looked++) {
        let least: Source | undefined;
        let first: Found | undefined;
        for (const source of sources) {
          const head = source.found[source.next];
          if (head === undefined || (first !== undefined && comparePlaces(head, first) >= 0)) continue;
          least = source;
          first = head;
        }
        if (least === undefined || first === undefined) return;
        least.next++;
        await fill(least);
        if (looked % IN_ONE_TURN === 0) await nextTurn();
        // In memory and in the collection, or in two runs.
        if (last !== undefined && comparePlaces(first, last) === 0) continue;
        last = first;
        const { key, identifier, duration } = first;
        const shared = recent?.get(key) ?? first.shared ?? (await counters.read(key, options));
        if (shared !== null) yield { key, identifier, duration, shared };
      }
    },
  };
};
