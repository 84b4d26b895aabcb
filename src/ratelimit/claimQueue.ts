import type { Clock } from "../domain/clock.ts";
import { mostAhead } from "../domain/sharedCounter.ts";
import { StoreUnavailableError } from "../storage/port/errors.ts";
import type { Charger } from "./charger.ts";
import { type ChunkLasts, mayChargeAhead, neededBy, nextChunk } from "./chargeSize.ts";
import { decideFromMemory, isDeniedBehind, reservedByOthers } from "./decideFromMemory.ts";
import {
  admitWithoutStore,
  type Claim,
  type DecisionSource,
  type Grant,
  type Line,
  type LocalCounter,
  remainingAt,
  timeWithin,
  usedAt,
  type Waiter,
} from "./localCounter.ts";

/** What to do beyond the held budget while the store is away: at most one further limit per node and window, or nothing. */
export type StoreDownPolicy = "allow" | "deny";

export interface ClaimQueue {
  /** Decides a claim of a call that arrives now from memory; undefined where the store or earlier claims decide first. */
  readonly decideNow: (claim: Claim) => Grant | undefined;
  /** Decides when those who came earlier have been served. Rejects only with what is no matter of the store. */
  readonly decideInTurn: (claim: Claim) => Promise<Grant>;
  /** A call has spent or given back what it had reserved on this counter. */
  readonly reservationEnded: (counter: LocalCounter) => void;
  /** Gives the held budget of an idle counter back; calls that come meanwhile wait, so that none is judged without it. */
  readonly refund: (counter: LocalCounter) => Promise<void>;
  readonly isBusy: (counter: LocalCounter) => boolean;
}

export interface ClaimQueueOptions {
  readonly clock: Clock;
  readonly charger: Charger;
  readonly storeDown: StoreDownPolicy;
  /** The chunk of a counter that is asked rarely, as of now. */
  readonly leastChunk: (counter: LocalCounter) => number;
  readonly chunkLasts: ChunkLasts;
  /** Hears of every counter that may hold budget now. */
  readonly onHeld: (counter: LocalCounter) => void;
}

const emptyLine = (): Line => ({ waiters: [], cost: 0, largestCost: 0, lowestLimit: Number.POSITIVE_INFINITY, withOthers: 0 });

/**
 * Decides claims as `decideFromMemory` says or, where it cannot, after a charge; one counter at a time and in order of
 * arrival. One charge asks for what all waiting claims need, and its answer decides all that had arrived when it was sent:
 * each is judged as of its arrival, so that room which opens while it waits does not make it ask again. A claim is denied only
 * when no earlier call may still give back what it reserved: those wait for still earlier ones at most, so all of them end,
 * and calls in parallel pass exactly as they would one after the other (verify §11).
 */
export const createClaimQueue = ({ clock, charger, storeDown, leastChunk, chunkLasts, onHeld }: ClaimQueueOptions): ClaimQueue => {
  const reservationEnds = new Map<LocalCounter, PromiseWithResolvers<void>>();

  const take = ({ counter, limit, cost, call }: Claim, now: number, monotonic: number, source: DecisionSource): Grant => {
    const reserved = call.claims.length > 1 ? cost : 0;
    counter.held -= cost;
    counter.reserved += reserved;
    if (reserved === 0) counter.movedAt = monotonic;
    return { granted: true, reserved, seq: counter.seq, now, remaining: remainingAt(counter, limit, now), source };
  };

  const refuse = ({ counter, call }: Claim, now: number, source: DecisionSource): Grant => {
    call.lost = true;
    if (source !== "store_down") counter.refusedAt = clock.monotonic();
    return { granted: false, reserved: 0, seq: counter.seq, now, remaining: 0, source };
  };

  /** Tells whether there is room, and takes nothing. */
  const look = (claim: Claim, now: number, source: DecisionSource): Grant => {
    const { counter, limit, cost, earlier } = claim;
    if (usedAt(counter, now) + earlier + cost > limit) return refuse(claim, now, source);
    return { granted: true, reserved: 0, seq: counter.seq, now, remaining: remainingAt(counter, limit, now), source };
  };

  /** The time at which a claim is judged that has waited: when its call arrived, or the beginning of the counter's window if that is later. */
  const arrivalOf = ({ call, counter }: Claim): number => Math.max(call.now, counter.seq * counter.duration);

  /** Decides from memory and carries that out. */
  const grantFromMemory = (claim: Claim, now: number, monotonic: number): Grant | undefined => {
    switch (decideFromMemory(claim, now, monotonic)) {
      case "take":
        return take(claim, now, monotonic, "memory");
      case "look":
        return look(claim, now, "memory");
      case "refuse":
        return refuse(claim, now, "memory");
      case "askStore":
        return undefined;
    }
  };

  const chunkFor = (counter: LocalCounter, limit: number): number => {
    if (!mayChargeAhead(limit)) return 0;
    const now = clock.monotonic();
    const lasted = now - counter.chargedAt;
    counter.chargedAt = now;
    const most = mostAhead(remainingAt(counter, limit, clock.now()));
    counter.chunk = nextChunk(counter.chunk, lasted, chunkLasts, leastChunk(counter), most);
    return counter.chunk;
  };

  const nextReservationEnd = (counter: LocalCounter): Promise<void> => {
    const ended = reservationEnds.get(counter) ?? Promise.withResolvers<void>();
    reservationEnds.set(counter, ended);
    return ended.promise;
  };

  const decideWithStore = async (claim: Claim, line: Line): Promise<Grant> => {
    const { counter, limit, cost, call } = claim;
    for (;;) {
      if (call.lost || cost === 0) return look(claim, await charger.refresh(counter), "store");
      const mayReturn = reservedByOthers(claim) > 0;
      const charged = await charger.charge(counter, { limit, cost, need: neededBy(line, limit), chunk: chunkFor(counter, limit) });
      const now = timeWithin(counter, clock.now());
      const grant = charged ? take(claim, now, clock.monotonic(), "store") : undefined;
      if (counter.held > 0) onHeld(counter);
      if (grant) return grant;
      if (!mayReturn) return refuse(claim, now, "store");
      if (reservedByOthers(claim) > 0) await nextReservationEnd(counter);
      const decided = grantFromMemory(claim, arrivalOf(claim), clock.monotonic());
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

  const join = (line: Line, waiter: Waiter): void => {
    const { cost, limit, call } = waiter.claim;
    line.waiters.push(waiter);
    line.cost += cost;
    line.largestCost = Math.max(line.largestCost, cost);
    line.lowestLimit = Math.min(line.lowestLimit, limit);
    if (call.claims.length > 1) line.withOthers++;
  };

  const leave = (line: Line, { claim }: Waiter): void => {
    line.cost -= claim.cost;
    if (claim.call.claims.length > 1) line.withOthers--;
  };

  /** Serves the waiting claims in order of arrival; claims that arrive meanwhile join the line. */
  const serve = async (counter: LocalCounter, line: Line): Promise<void> => {
    const { waiters } = line;
    for (let first = waiters[0]; first !== undefined; first = waiters[0]) {
      const { claim, resolve } = first;
      try {
        claim.grant = grantFromMemory(claim, arrivalOf(claim), clock.monotonic()) ?? (await decideWithStore(claim, line));
        waiters.shift();
        leave(line, first);
        resolve(claim.grant);
      } catch (error) {
        // Asking again for each waiting claim would only fail again.
        for (const waiter of waiters.splice(0)) {
          leave(line, waiter);
          if (error instanceof StoreUnavailableError) {
            waiter.claim.grant =
              grantFromMemory(waiter.claim, arrivalOf(waiter.claim), clock.monotonic()) ?? decideWithoutStore(waiter.claim);
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
    decideNow: (claim) => {
      const { counter, call } = claim;
      if (counter.line === undefined) return grantFromMemory(claim, call.now, call.monotonic);
      return isDeniedBehind(claim, counter.line) ? refuse(claim, call.now, "memory") : undefined;
    },
    decideInTurn: (claim) => {
      const { counter } = claim;
      const { promise, resolve, reject } = Promise.withResolvers<Grant>();
      const waiter: Waiter = { claim, resolve, reject };
      const line = counter.line ?? emptyLine();
      join(line, waiter);
      if (counter.line === undefined) {
        counter.line = line;
        void serve(counter, line);
      }
      return promise;
    },
    reservationEnded: (counter) => {
      reservationEnds.get(counter)?.resolve();
      reservationEnds.delete(counter);
    },
    refund: async (counter) => {
      if (counter.line) return;
      const line = emptyLine();
      counter.line = line;
      // Lost if the store is away: given twice it would admit too much, lost it admits too little for a while.
      await charger.refund(counter).catch(() => undefined);
      await serve(counter, line);
    },
  };
};
