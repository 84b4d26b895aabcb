import type { Clock } from "../domain/clock.ts";
import { windowAt } from "../domain/slidingWindow.ts";
import { StoreUnavailableError } from "../storage/port/errors.ts";
import { type ChunkLasts, mayChargeAhead, neededBy, nextChunk } from "./chargeRequest.ts";
import type { Charger } from "./charger.ts";
import { decideFromMemory, reservedByOthers } from "./decideFromMemory.ts";
import {
  admitWithoutStore,
  type Claim,
  type DecisionSource,
  type Grant,
  type LocalCounter,
  mostAhead,
  remainingAt,
  timeWithin,
  usedAt,
  type Waiter,
} from "./localCounter.ts";

/** What to do beyond the held budget while the store is away: at most one further limit per node and window, or nothing. */
export type StoreDownPolicy = "allow" | "deny";

export interface ClaimQueue {
  /** Decides from memory, or not at all; also not if others wait, they came first. `now` and `monotonic` are one moment. */
  readonly decideNow: (claim: Claim, now: number, monotonic: number) => Grant | undefined;
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

/**
 * Decides claims as `decideFromMemory` says or, where it cannot say, after a charge; one counter at a time and in order of
 * arrival. A claim is granted as soon as there is budget. It is denied only when no earlier call may still give back what
 * it reserved: those wait for still earlier ones at most, so all of them end, and calls in parallel pass exactly as they
 * would one after the other (verify §11).
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
    return { granted: false, reserved: 0, seq: counter.seq, now, remaining: 0, source };
  };

  /** Tells whether there is room, and takes nothing. */
  const look = (claim: Claim, now: number, source: DecisionSource): Grant => {
    const { counter, limit, cost, earlier } = claim;
    if (usedAt(counter, now) + earlier + cost > limit) return refuse(claim, now, source);
    return { granted: true, reserved: 0, seq: counter.seq, now, remaining: remainingAt(counter, limit, now), source };
  };

  /** Does what was decided. */
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

  const decideWithStore = async (claim: Claim, line: readonly Waiter[]): Promise<Grant> => {
    const { counter, limit, cost, call } = claim;
    for (;;) {
      if (call.lost || cost === 0) return look(claim, await charger.refresh(counter), "store");
      const mayReturn = reservedByOthers(claim) > 0;
      const charged = await charger.charge(counter, { limit, cost, need: neededBy(line, limit), chunk: chunkFor(counter, limit) });
      const now = timeWithin(counter, clock.now());
      const grant = charged ? take(claim, now, clock.monotonic(), "store") : undefined;
      if (counter.held > 0) onHeld(counter);
      if (grant) return grant;
      const windowOver = windowAt(clock.now(), counter.duration) > counter.seq;
      if (!mayReturn && !windowOver) return refuse(claim, now, "store");
      if (reservedByOthers(claim) > 0) await nextReservationEnd(counter);
      const decided = grantFromMemory(claim, timeWithin(counter, clock.now()), clock.monotonic());
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
  const serve = async (counter: LocalCounter, line: Waiter[]): Promise<void> => {
    const timeHere = (): number => Math.max(clock.now(), counter.seq * counter.duration);
    for (let first = line[0]; first !== undefined; first = line[0]) {
      const { claim, resolve } = first;
      try {
        claim.grant = grantFromMemory(claim, timeHere(), clock.monotonic()) ?? (await decideWithStore(claim, line));
        line.shift();
        resolve(claim.grant);
      } catch (error) {
        // Everyone who waits now would only wait for the same answer.
        for (const waiter of line.splice(0)) {
          if (error instanceof StoreUnavailableError) {
            waiter.claim.grant = grantFromMemory(waiter.claim, timeHere(), clock.monotonic()) ?? decideWithoutStore(waiter.claim);
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
    decideNow: (claim, now, monotonic) => (claim.counter.line ? undefined : grantFromMemory(claim, now, monotonic)),
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
    reservationEnded: (counter) => {
      reservationEnds.get(counter)?.resolve();
      reservationEnds.delete(counter);
    },
    refund: async (counter) => {
      if (counter.line) return;
      const line: Waiter[] = [];
      counter.line = line;
      // Lost if the store is away: given twice it would admit too much, lost it admits too little for a while.
      await charger.refund(counter).catch(() => undefined);
      await serve(counter, line);
    },
  };
};
