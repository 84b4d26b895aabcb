import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { rollForward } from "../../platform/storage/counters/rollForward.ts";
import type { SharedCounter } from "../../platform/storage/counters/sharedCounter.ts";
import { weightedPrevious, windowAt } from "../../platform/storage/counters/slidingWindow.ts";
import type { Counters } from "../../platform/storage/port/counters.ts";
import type { Check } from "./check.ts";
import { canTake, type LocalCounter, UNSEEN } from "./localCounter.ts";

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
  readonly counters: Pick<Counters, "read">;
  /** The counter, if this node may hold something of it. */
  readonly find: (key: string) => LocalCounter | undefined;
}

/** Reads of one counter, at most, while this node charges it all the time. */
const ATTEMPTS = 5;

/** What this node holds of a counter, and what it last learned, by which an answer of the store is seen. */
interface Held extends Pick<LocalCounter, "seq" | "current" | "previous" | "learnedAt" | "held" | "reserved"> {
  /** A charge, refund or read is on its way: nobody knows whether the store has it already. */
  readonly isMoving: boolean;
}

const NOTHING: Held = { seq: UNSEEN, current: 0, previous: 0, learnedAt: 0, held: 0, reserved: 0, isMoving: false };

const heldOf = (counter: LocalCounter | undefined): Held => {
  if (counter === undefined) return NOTHING;
  const { seq, current, previous, learnedAt, held, reserved, line } = counter;
  return { seq, current, previous, learnedAt, held, reserved, isMoving: line !== undefined };
};

/** Nothing went to the store or came from it between the two: what was spent meanwhile was charged before. */
const isOneMoment = (before: Held, after: Held): boolean =>
  !before.isMoving &&
  !after.isMoving &&
  (["seq", "current", "previous", "learnedAt"] as const).every((field) => before[field] === after[field]);

/** The counts that the store has, and what of them this node holds: not spent, and not yet spent by calls that wait. */
export interface CountsAndHeld {
  readonly shared: SharedCounter | null;
  /** Window of what is held. */
  readonly seq: number;
  readonly held: number;
  readonly reserved: number;
}

/** Reads both as of one moment. Without a moment that is the same for both, less is taken for held. */
export const createReadBoth =
  ({ counters, find }: Pick<PeekOptions, "counters" | "find">) =>
  async (key: string, behalf: Behalf | undefined): Promise<CountsAndHeld> => {
    for (let attempt = 1; ; attempt++) {
      const before = heldOf(find(key));
      const shared = await counters.read(key, behalf);
      const after = heldOf(find(key));
      const { seq, held, reserved } = after;
      if (isOneMoment(before, after)) return { shared, seq, held, reserved };
      if (attempt < ATTEMPTS) continue;
      const isSame = before.seq === seq;
      return { shared, seq, held: isSame ? Math.min(before.held, held) : 0, reserved: isSame ? Math.min(before.reserved, reserved) : 0 };
    }
  };

export const createPeek = ({
  clock,
  counters,
  find,
}: PeekOptions): ((checks: readonly Check[], behalf?: Behalf) => Promise<readonly Peek[]>) => {
  const readBoth = createReadBoth({ counters, find });

  return (checks, behalf) =>
    Promise.all(
      checks.map(async ({ key, limit, duration, cost }) => {
        const own = await readBoth(key, behalf);
        const { state, now } = rollForward(own.shared, duration, clock.now());
        const { seq } = state;
        const counter = find(key);
        // What is left of a window that is over goes back before anybody is judged by the next one.
        const current = Math.max(0, state.current - (own.seq >= seq ? own.held : 0));
        const previous = Math.max(0, state.previous - (own.seq === seq - 1 ? own.held : 0));
        const weighted = weightedPrevious(previous, now, duration);
        const hasBudget = counter !== undefined && canTake(counter, seq, limit, cost);
        return { passed: cost <= limit && (hasBudget || current + weighted + cost <= limit), seq, current, previous, weighted, now };
      }),
    );
};
