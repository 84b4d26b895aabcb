import { type RolledForward, rollForward } from "../../platform/storage/counters/rollForward.ts";
import { weightedPrevious, windowEnd } from "../../platform/storage/counters/slidingWindow.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { CounterPlace } from "./counterKey.ts";
import type { CounterListRepository } from "./counterListRepository.ts";
import { ALL_LENGTHS, type Lengths, type ListedCounter } from "./counterWalk.ts";
import type { Limiter } from "./limiter.ts";

/** Counters that one page looks at, when most of them count no more. */
const MOST_LOOKED_AT = 1_000;

/** What an identifier has used, as of now. */
export interface CurrentCounter extends CounterPlace {
  /** Used in the present window and in the one before, what nodes hold included. */
  readonly current: number;
  readonly previous: number;
  /** End of the present window, Unix ms. */
  readonly reset: number;
  /** What of both this node holds unspent. */
  readonly held: number;
  /** What counts against a limit now: `current`, and as much of `previous` as still weighs. */
  readonly used: number;
}

/** Where a page begins. */
export interface CountersFrom {
  /** Undefined: with the first counter of these lengths of windows. */
  readonly place: CounterPlace | undefined;
  readonly lengths: Lengths;
}

export interface CountersPageRequest {
  readonly namespaceId: string;
  /** What the identifiers begin with; empty: all. */
  readonly prefix: string;
  /** Undefined: with the first. */
  readonly from: CountersFrom | undefined;
  readonly limit: number;
}

export interface CountersPage {
  readonly items: readonly CurrentCounter[];
  /** Where the next page begins; undefined when this is the last one. */
  readonly next: CountersFrom | undefined;
}

export interface CountersPageDeps {
  readonly counterList: CounterListRepository;
  readonly limiter: Pick<Limiter, "clock" | "held" | "readBoth" | "keyPrefix">;
}

/** What a counter is now, and what of it this node holds. */
const readCurrent = async (
  { limiter }: CountersPageDeps,
  { key, duration, shared }: ListedCounter,
  options: OperationOptions,
): Promise<RolledForward & { readonly held: number }> => {
  const known = rollForward(shared, duration, limiter.clock.now());
  const own = limiter.held(key);
  const { seq, current, previous } = known.state;
  if (own === undefined || own.amount === 0 || (own.seq !== seq && own.seq !== seq - 1)) return { ...known, held: 0 };
  if ((own.seq === seq ? current : previous) === own.current) return { ...known, held: own.amount };
  // What is held was charged after the counter was read, or other nodes have used or given back some since it was charged.
  const both = await limiter.readBoth(key, options);
  const read = rollForward(both.shared, duration, limiter.clock.now());
  const isHeld = both.seq === read.state.seq || both.seq === read.state.seq - 1;
  return { ...read, held: isHeld ? both.held + both.reserved : 0 };
};

/** Undefined: nobody has used anything in the two windows. Of what is held nothing was used yet, and it may be given back. */
const currentOf = async (
  deps: CountersPageDeps,
  counter: ListedCounter,
  options: OperationOptions,
): Promise<CurrentCounter | undefined> => {
  const { state, now, held } = await readCurrent(deps, counter, options);
  const { identifier, duration } = counter;
  const { current, previous } = state;
  if (current + previous - held <= 0) return undefined;
  const used = current + weightedPrevious(previous, now, duration);
  return { identifier, duration, current, previous, reset: windowEnd(now, duration), held, used };
};

/**
 * One page of the counters of a namespace that count in the present window, by identifier and duration (management §3). It
 * looks at a thousand counters at most, and may then be short, or empty, with a next one. Of more than a thousand lengths of
 * windows, the pages show all counters of the first thousand, then those of the next; one that is there all the while comes
 * once, or twice where lengths are added meanwhile. Rejects with `StoreUnavailableError`.
 */
export const readCountersPage = async (
  deps: CountersPageDeps,
  { namespaceId, prefix, from = { place: undefined, lengths: ALL_LENGTHS }, limit }: CountersPageRequest,
  options: OperationOptions,
): Promise<CountersPage> => {
  const items: CurrentCounter[] = [];
  let looked = 0;
  const walk = { namespaceId, run: deps.limiter.keyPrefix(), prefix, from: from.place, wanted: limit + 1, lengths: from.lengths };
  const { lengths, counters } = await deps.counterList.walk(walk, options);
  for await (const counter of counters) {
    const { identifier, duration } = counter;
    const next = { place: { identifier, duration }, lengths };
    if (looked++ === MOST_LOOKED_AT) return { items, next };
    const shown = await currentOf(deps, counter, options);
    if (shown === undefined) continue;
    if (items.length === limit) return { items, next };
    items.push(shown);
  }
  return {
    items,
    next: lengths.until === undefined ? undefined : { place: undefined, lengths: { after: lengths.until, until: undefined } },
  };
};
