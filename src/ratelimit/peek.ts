import type { Behalf } from "../domain/behalf.ts";
import type { Clock } from "../domain/clock.ts";
import { weightedPrevious, windowAt } from "../domain/slidingWindow.ts";
import type { CountersRepository } from "../storage/counters.ts";
import { type Counter, canTake } from "./counter.ts";
import { asOf } from "./exchange.ts";
import type { Check } from "./limiter.ts";

/** A counter as it is, and what it would say to one check. */
export interface Peek {
  /** The limit by itself has room for the cost. */
  readonly passed: boolean;
  /** Number of the current fixed window; see `windowAt`. */
  readonly seq: number;
  /** Used in the current fixed window and in the one before; other nodes' unspent budget counts, this node's does not. */
  readonly current: number;
  readonly previous: number;
  /** The part of `previous` that still counts. */
  readonly weighted: number;
  /** When that is, Unix ms: in the current window. */
  readonly now: number;
}

/** What nobody has counted yet, at a time that is assumed. */
export const emptyPeek = ({ limit, cost, duration }: Check, now: number): Peek => ({
  passed: cost <= limit,
  seq: windowAt(now, duration),
  current: 0,
  previous: 0,
  weighted: 0,
  now,
});

export interface PeekOptions {
  readonly clock: Clock;
  readonly counters: Pick<CountersRepository, "read">;
  /** The counter, if this node may hold something of it. */
  readonly find: (key: string) => Counter | undefined;
}

export const createPeek =
  ({ clock, counters, find }: PeekOptions): ((checks: readonly Check[], behalf?: Behalf) => Promise<readonly Peek[]>) =>
  (checks, behalf) =>
    Promise.all(
      checks.map(async ({ key, limit, duration, cost }) => {
        const { state, now } = asOf(clock, await counters.read(key, behalf), duration);
        const { seq } = state;
        const own = find(key);
        const held = own?.held ?? 0;
        // What is left of a window that is over goes back before anybody is judged by the next one.
        const current = Math.max(0, state.current - (own !== undefined && own.seq >= seq ? held : 0));
        const previous = Math.max(0, state.previous - (own?.seq === seq - 1 ? held : 0));
        const weighted = weightedPrevious(previous, now, duration);
        const hasBudget = own !== undefined && canTake(own, seq, limit, cost);
        return { passed: cost <= limit && (hasBudget || current + weighted + cost <= limit), seq, current, previous, weighted, now };
      }),
    );
