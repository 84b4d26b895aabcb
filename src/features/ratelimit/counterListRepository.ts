import { setImmediate as nextTurn } from "node:timers/promises";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { KeyedCounter, KeyRange } from "../../platform/storage/port/counters.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { beginningWith } from "../../platform/storage/port/textRange.ts";
import { chunks } from "../../platform/util/chunks.ts";
import { comparePlaces, counterKeysOf, placeOfKey } from "./counterKey.ts";
import type { CounterWalk, Lengths, ListedCounter } from "./counterWalk.ts";
import { scanCounters } from "./scanCounters.ts";

export interface WalkedCounters {
  /** Those that were asked for, but for what lies behind the first thousand of them. */
  readonly lengths: Lengths;
  readonly counters: AsyncGenerator<ListedCounter, void, undefined>;
}

export interface CounterListRepository {
  /**
   * The counters of a namespace in the order of `comparePlaces`, each once. What exists throughout comes, and with the
   * counts that it has when it does; reads one range of the keys for each length of window that the namespace has, of a
   * thousand lengths at most, as far as somebody goes on.
   */
  readonly walk: (walk: CounterWalk, options?: OperationOptions) => Promise<WalkedCounters>;
}

/** Counters that one turn of the event loop puts in order. */
const IN_ONE_TURN = 100;
/** Of the lengths of windows so many are asked at once. */
const ASKED_AT_ONCE = 8;
/** Lengths of windows that one walk goes through: whoever counts may choose others for every call. */
const MOST_LENGTHS = 1_000;
/** So many are found one by one; then several are looked for at once, while there are hardly more counters than lengths. */
const FEW_LENGTHS = 8;
const MOST_READ = 64;
/** What is read at first of all lengths together, as long as it is some of each. */
const READ_AT_FIRST = 1_000;
const LEAST_READ = 10;

/** Counters in order; `more` reads what comes behind those that are there. */
interface Source {
  found: readonly ListedCounter[];
  next: number;
  more: (() => Promise<readonly ListedCounter[]>) | undefined;
}

/** Has the source have one to give, if there is one. */
const fill = async (source: Source): Promise<void> => {
  while (source.next === source.found.length && source.more !== undefined) {
    source.found = await source.more();
    source.next = 0;
  }
};

/** Counters of rate limits as a namespace's list shows them (management §3). Nothing is kept in order for it. */
export const createCounterListRepository = (store: Store): CounterListRepository => {
  const { counters } = store;
  const stored = store.collection("counters");

  const listDocuments = async (range: KeyRange, limit: number, { signal, caller }: OperationOptions): Promise<readonly KeyedCounter[]> => {
    const found = await stored.find({ _id: range }, { signal, caller, sort: { _id: 1 }, limit }).toArray();
    return found.map(({ _id, seq, current, previous }) => ({ key: _id, seq, current, previous }));
  };
  const list = (range: KeyRange, limit: number, options: OperationOptions): Promise<readonly KeyedCounter[]> =>
    counters.list?.(range, limit) ?? listDocuments(range, limit, options);

  /**
   * The lengths of windows that the namespace has counters of, one more than a walk goes through at most: one look at the keys
   * for each where there are few, or each has many counters, and else for many of them.
   */
  const durationsOf = async (keys: string, { after, until }: Lengths, options: OperationOptions): Promise<number[]> => {
    const durations: number[] = [];
    const range = beginningWith(keys);
    // What comes behind all that begins with `1000:`.
    const behind = (duration: number): string => `${keys}${duration};`;
    const bounds = { ...range, ...(until === undefined ? {} : { $lt: behind(until) }) };
    let read = 1;
    for (let from = after === undefined ? range.$gte : behind(after); durations.length <= MOST_LENGTHS; ) {
      const rows = await list({ ...bounds, $gte: from }, read, options);
      const found = new Set(rows.map(({ key }) => placeOfKey(keys, key).duration));
      durations.push(...found);
      if (found.size === 0) break;
      from = behind(durations.at(-1) ?? 0);
      if (durations.length >= FEW_LENGTHS) read = 2 * found.size >= rows.length ? Math.min(2 * read, MOST_READ) : 1;
    }
    return durations.slice(0, MOST_LENGTHS + 1);
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
    const begin = start + (from?.identifier.toWellFormed() ?? "");
    let range: KeyRange = from === undefined ? { $gte: first, ...until } : behind ? { $gt: begin, ...until } : { $gte: begin, ...until };
    const source: Source = { found: [], next: 0, more: undefined };
    source.more = async () => {
      const rows = await list(range, limit, options);
      const last = rows.at(-1);
      if (last === undefined || rows.length < limit) source.more = undefined;
      else range = { $gt: last.key, ...until };
      return rows.map(({ key, ...shared }) => ({ key, ...placeOfKey(keys, key), shared }));
    };
    return source;
  };

  const open = async (walk: CounterWalk, keys: string, durations: readonly number[], options: OperationOptions): Promise<Source[]> => {
    const place = { prefix: walk.prefix.toWellFormed(), from: walk.from };
    const limit = Math.min(walk.wanted, Math.max(LEAST_READ, Math.ceil(READ_AT_FIRST / durations.length)));
    const sources = durations.map((duration) => sourceOfDuration(keys, duration, place, limit, options));
    for (const some of chunks(sources, ASKED_AT_ONCE)) await Promise.all(some.map(fill));
    return sources;
  };

  const merge = async function* (sources: readonly Source[], options: OperationOptions): AsyncGenerator<ListedCounter, void, undefined> {
    /** The next counter of each source that has one, in order. */
    const heads: { readonly head: ListedCounter; readonly source: Source }[] = [];
    const take = (source: Source): void => {
      const head = source.found[source.next++];
      if (head === undefined) return;
      const behind = heads.findIndex((other) => comparePlaces(head, other.head) < 0);
      heads.splice(behind < 0 ? heads.length : behind, 0, { head, source });
    };
    for (const source of sources) take(source);
    for (let looked = 1; ; looked++) {
      const least = heads.shift();
      if (least === undefined) return;
      const { head, source } = least;
      await fill(source);
      take(source);
      if (looked % IN_ONE_TURN === 0) await nextTurn();
      // Where a read costs next to nothing, the counts are those of this moment.
      const shared = counters.list === undefined ? head.shared : await counters.read(head.key, options);
      if (shared !== null) yield { ...head, shared };
    }
  };

  return {
    walk: async (walk, options = {}) => {
      const keys = counterKeysOf(walk.namespaceId, walk.run);
      const { read, scan } = counters;
      if (scan !== undefined) return { lengths: walk.lengths, counters: scanCounters({ read, scan }, keys, walk, options) };
      const found = await durationsOf(keys, walk.lengths, options);
      const durations = found.slice(0, MOST_LENGTHS);
      const lengths = found.length > MOST_LENGTHS ? { ...walk.lengths, until: durations.at(-1) } : walk.lengths;
      const sources = await open(walk, keys, durations, options);
      return { lengths, counters: merge(sources, options) };
    },
  };
};
