import type { Clock } from "../domain/clock.ts";
import { windowAt } from "../domain/slidingWindow.ts";
import { StoreUnavailableError } from "../storage/port/errors.ts";
import {
  admitWithoutStore,
  type Claim,
  type Counter,
  canTake,
  type DecisionSource,
  type Grant,
  isDenied,
  isKnown,
  mostAhead,
  remainingAt,
  timeWithin,
  usedAt,
  type Waiter,
} from "./counter.ts";
import type { Exchange } from "./exchange.ts";

/** Limits up to this are charged one cost at a time, so that several nodes waste none of them. */
const UNCHUNKED_LIMIT = 20;

/** What to do beyond the held budget while the store is away: at most one further limit per node and window, or nothing. */
export type StoreDownPolicy = "allow" | "deny";

export interface Judge {
  /** Decides from memory, or not at all; also not if others wait, they came first. */
  readonly decideNow: (claim: Claim, now: number) => Grant | undefined;
  /** Decides when those who came earlier have been served. Rejects only with what is no matter of the store. */
  readonly decideInTurn: (claim: Claim) => Promise<Grant>;
  /** A call has spent or given back what it had reserved on this counter. */
  readonly concluded: (counter: Counter) => void;
  /** Gives the held budget of an idle counter back; calls that come meanwhile wait, so that none is judged without it. */
  readonly refund: (counter: Counter) => Promise<void>;
  readonly isBusy: (counter: Counter) => boolean;
}

export interface JudgeOptions {
  readonly clock: Clock;
  readonly exchange: Exchange;
  readonly storeDown: StoreDownPolicy;
  /** The chunk of a counter that is asked rarely, as of now. */
  readonly leastChunk: (counter: Counter) => number;
  /** How long a chunk should last, in milliseconds: the next one is twice as large after less than `least`, half after more than `most`. */
  readonly chunkLasts: { readonly least: number; readonly most: number };
  /** Hears of every counter that may hold budget now. */
  readonly onHeld: (counter: Counter) => void;
}

/**
 * Decides claims, one counter at a time and in order of arrival. A claim is granted as soon as there is budget. It is
 * denied only when no earlier call may still give back what it reserved: those wait for still earlier ones at most, so
 * all of them end, and calls in parallel pass exactly as they would one after the other (verify §11).
 */
export const createJudge = ({ clock, exchange, storeDown, leastChunk, chunkLasts, onHeld }: JudgeOptions): Judge => {
  const conclusions = new Map<Counter, PromiseWithResolvers<void>>();

  const reservedByOthers = ({ counter, call }: Claim): number => {
    let others = counter.reserved;
    for (const { counter: same, grant } of call.claims) {
      if (same === counter && grant !== undefined && grant.seq === counter.seq) others -= grant.reserved;
    }
    return others;
  };

  const take = ({ counter, limit, cost, call }: Claim, now: number, source: DecisionSource): Grant => {
    const reserved = call.claims.length > 1 ? cost : 0;
    counter.held -= cost;
    counter.reserved += reserved;
    if (reserved === 0) counter.movedAt = clock.monotonic();
    return { granted: true, reserved, seq: counter.seq, now, remaining: remainingAt(counter, limit, now), source };
  };

  const refuse = ({ counter, call }: Claim, now: number, source: DecisionSource): Grant => {
    call.lost = true;
    return { granted: false, reserved: 0, seq: counter.seq, now, remaining: 0, source };
  };

  /** Tells whether there is room, and takes nothing. */
  const look = (claim: Claim, now: number, source: DecisionSource): Grant => {
    const { counter, limit, cost, earlier } = claim;
    if (usedAt(counter, now) + earlier + cost > limit) return refuse(claim, now, source);
    return { granted: true, reserved: 0, seq: counter.seq, now, remaining: remainingAt(counter, limit, now), source };
  };

  const decideFromMemory = (claim: Claim, now: number): Grant | undefined => {
    const { counter, limit, cost, call } = claim;
    const seq = windowAt(now, counter.duration);
    if (cost > limit) return refuse(claim, now, "memory");
    if (call.lost) return isKnown(counter, seq, clock.monotonic()) ? look(claim, now, "memory") : undefined;
    if (canTake(counter, seq, limit, cost)) return take(claim, now, "memory");
    if (isDenied(counter, limit, cost, now, clock.monotonic()) && reservedByOthers(claim) === 0) return refuse(claim, now, "memory");
    return undefined;
  };

  /** Follows the rate at which the counter is asked. */
  const chunkFor = (counter: Counter, limit: number): number => {
    if (limit <= UNCHUNKED_LIMIT) return 0;
    const now = clock.monotonic();
    const lasted = now - counter.chargedAt;
    counter.chargedAt = now;
    const follow = lasted < chunkLasts.least ? counter.chunk * 2 : lasted > chunkLasts.most ? Math.floor(counter.chunk / 2) : counter.chunk;
    counter.chunk = Math.min(Math.max(leastChunk(counter), follow), mostAhead(remainingAt(counter, limit, clock.now())));
    return counter.chunk;
  };

  /** What those who wait need, as far as they share the first one's limit. */
  const need = (line: readonly Waiter[], limit: number): number => {
    let sum = 0;
    for (const { claim } of line) {
      if (claim.limit !== limit || claim.cost === 0) break;
      if (!claim.call.lost) sum += claim.cost;
    }
    return sum;
  };

  const conclusionOf = (counter: Counter): Promise<void> => {
    const conclusion = conclusions.get(counter) ?? Promise.withResolvers<void>();
    conclusions.set(counter, conclusion);
    return conclusion.promise;
  };

  const decideWithStore = async (claim: Claim, line: readonly Waiter[]): Promise<Grant> => {
    const { counter, limit, cost, call } = claim;
    for (;;) {
      if (call.lost || cost === 0) return look(claim, await exchange.refresh(counter), "store");
      const mayReturn = reservedByOthers(claim) > 0;
      const charged = await exchange.charge(counter, limit, cost, need(line, limit), chunkFor(counter, limit));
      const now = timeWithin(counter, clock.now());
      const grant = charged ? take(claim, now, "store") : undefined;
      if (counter.held > 0) onHeld(counter);
      if (grant) return grant;
      const windowOver = windowAt(clock.now(), counter.duration) > counter.seq;
      if (!mayReturn && !windowOver) return refuse(claim, now, "store");
      if (reservedByOthers(claim) > 0) await conclusionOf(counter);
      const decided = decideFromMemory(claim, timeWithin(counter, clock.now()));
      if (decided) return decided;
    }
  };

  const decideWithoutStore = (claim: Claim): Grant => {
    const { counter, limit, cost } = claim;
    const now = clock.now();
    if (storeDown === "deny" || !admitWithoutStore(counter, limit, cost, now)) return refuse(claim, now, "store_down");
    const remaining = limit - counter.awaySpent;
    return { granted: true, reserved: 0, seq: counter.awaySeq, now, remaining, source: "store_down" };
  };

  /** Serves those who wait in order of arrival; whoever comes meanwhile joins the line. */
  const serve = async (counter: Counter, line: Waiter[]): Promise<void> => {
    const timeHere = (): number => Math.max(clock.now(), counter.seq * counter.duration);
    for (let first = line[0]; first !== undefined; first = line[0]) {
      const { claim, resolve } = first;
      try {
        claim.grant = decideFromMemory(claim, timeHere()) ?? (await decideWithStore(claim, line));
        line.shift();
        resolve(claim.grant);
      } catch (error) {
        // Everyone who waits now would only wait for the same answer.
        for (const waiter of line.splice(0)) {
          if (error instanceof StoreUnavailableError) {
            waiter.claim.grant = decideFromMemory(waiter.claim, timeHere()) ?? decideWithoutStore(waiter.claim);
            waiter.resolve(waiter.claim.grant);
          } else {
            waiter.reject(error);
          }
        }
      }
    }
    counter.line = undefined;
  };

  return {
    isBusy: (counter) => counter.line !== undefined,
    decideNow: (claim, now) => (claim.counter.line ? undefined : decideFromMemory(claim, now)),
    decideInTurn: (claim) => {
      const { counter } = claim;
      const { promise, resolve, reject } = Promise.withResolvers<Grant>();
      const waiter: Waiter = { claim, resolve, reject };
      const { line } = counter;
      if (line) {
        line.push(waiter);
      } else {
        const fresh = [waiter];
        counter.line = fresh;
        void serve(counter, fresh);
      }
      return promise;
    },
    concluded: (counter) => {
      conclusions.get(counter)?.resolve();
      conclusions.delete(counter);
    },
    refund: async (counter) => {
      if (counter.line) return;
      const line: Waiter[] = [];
      counter.line = line;
      // Lost if the store is away: given twice it would admit too much, lost it admits too little for a while.
      await exchange.refund(counter).catch(() => undefined);
      await serve(counter, line);
    },
  };
};
