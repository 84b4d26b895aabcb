import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { windowAt, windowEnd } from "../../platform/storage/counters/slidingWindow.ts";
import type { Counters } from "../../platform/storage/port/counters.ts";
import { chunks } from "../../platform/util/chunks.ts";
import { createRounds } from "../../platform/util/rounds.ts";
import { createCharger } from "./charger.ts";
import type { Check } from "./check.ts";
import { createClaimQueue, type StoreDownPolicy } from "./claimQueue.ts";
import type { Claim, DecisionSource, Grant, LimitedCall } from "./localCounter.ts";
import { type LocalCounter, usedAt } from "./localCounter.ts";
import { createLocalCounterTable } from "./localCounterTable.ts";
import { type CountsAndHeld, createPeek, createReadBoth, type Peek } from "./peek.ts";
import { resumableWalk } from "./resumableWalk.ts";

/** Budget that nobody spends for so long goes back to the shared counter. */
const REFUND_IDLE_MS = 1_000;
const RECLAIM_EVERY_MS = 500;
/** What one round looks at, and gives back at most: a million counters never hold up the event loop, nor the store. */
const LOOK_AT_PER_ROUND = 20_000;
const REFUNDS_PER_ROUND = 1_000;
const REFUNDS_AT_ONCE = 100;

/**
 * Where no other node can want it, budget is charged ahead for counters that are asked rarely, and held until its window
 * has lost all weight; by so many counters, some 350 bytes each, and by no more.
 */
const CHUNK_ALONE = 8;
/** A charge costs more than a call; what is charged ahead takes from nobody where there is nobody else. */
const CHUNK_LASTS = { shared: { least: 200, most: 1_000 }, alone: { least: 2_000, most: 10_000 } } as const;
const MOST_HOLDERS_ALONE = 131_072;
const LONGEST_KEY_HELD = 256;
/** From so many on, those give back that were idle. */
const MANY_HOLDERS_ALONE = (MOST_HOLDERS_ALONE / 8) * 7;
const REFUNDS_AT_ONCE_ALONE = 10_000;

export interface CheckResult {
  /** This limit by itself had room. */
  readonly passed: boolean;
  readonly remaining: number;
  /** End of the current fixed window, Unix ms. */
  readonly reset: number;
}

export interface Decision {
  /** Every limit had room, and all of them were charged; otherwise none was. */
  readonly passed: boolean;
  /** In the order of the checks. */
  readonly results: readonly CheckResult[];
  /** The store is away: for at least one limit the policy for that decided, not the counter. */
  readonly storeAway: boolean;
}

/** Budget that was charged to the shared counter and not spent yet. */
export interface Held {
  readonly seq: number;
  readonly amount: number;
  /** What the shared count of that window was then; `amount` is a part of it. */
  readonly current: number;
}

export interface Limiter {
  /** By which windows begin and end. */
  readonly clock: Clock;
  /**
   * Checks all limits as one all-or-nothing step (ratelimit §3, verify §5). A store that is away does not make it reject;
   * `StoreOverloadedError` does, when the caller, or all of them together, ask more of the counters than the store takes.
   * @param isOwn they are limits of the service's own, which no caller has made or asked to be checked.
   */
  readonly check: (checks: readonly Check[], now: number, behalf?: Behalf, isOwn?: boolean) => Decision | Promise<Decision>;
  /**
   * What every limit by itself would say to a check, in their order, without charging anything or leaving any trace: the counts
   * of the store, of which only the budget that this node holds counts as free. Rejects with `StoreUnavailableError`.
   */
  readonly peek: (checks: readonly Check[], behalf?: Behalf) => Promise<readonly Peek[]>;
  /** What this node holds unspent of a counter, and of which window; looking leaves no trace. */
  readonly held: (key: string) => Held | undefined;
  /** The same, together with the store's counts as of one moment. Rejects with `StoreUnavailableError`. */
  readonly readBoth: (key: string, behalf: Behalf | undefined) => Promise<CountsAndHeld>;
  /** What the keys of counters begin with: nothing, but under a clock that tests turn. */
  readonly keyPrefix: () => string;
  /** Reclaims what is idle twice a second from now on. */
  readonly start: () => void;
  /** One round: gives idle budget back to the store, forgets idle counters. Settles when the store has answered. */
  readonly reclaimIdle: () => Promise<void>;
  /** Gives all held budget back; resolves when everything that is on its way to the store has arrived, or failed. */
  readonly stop: () => Promise<void>;
  /** Counters in memory. */
  readonly size: () => number;
}

export interface LimiterOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  readonly storeDown: StoreDownPolicy;
  /** Hears of every decision on one limit, of who made it, and whether the limit is the service's own. */
  readonly onDecision?: (passed: boolean, source: DecisionSource, isOwn: boolean) => void;
}

const costOn = (counter: LocalCounter, claims: readonly Claim[]): number => {
  let sum = 0;
  for (const claim of claims) if (claim.counter === counter) sum += claim.cost;
  return sum;
};

/**
 * Rate limits over counters that nodes share (DESIGN §4): a node charges budget to the shared counter before it admits
 * anything out of it, so nodes together never admit more than the limit. While it holds budget it decides without
 * the store; otherwise the calls of one counter wait in order of arrival behind one operation.
 */
export const createLimiter = ({ clock, counters: sharedCounters, storeDown, onDecision }: LimiterOptions): Limiter => {
  const charger = createCharger(sharedCounters, clock);
  const holders = new Set<LocalCounter>();
  const { isShared } = sharedCounters;
  const queue = createClaimQueue({
    clock,
    charger,
    storeDown,
    leastChunk: ({ key }) => (isShared || holders.size >= MOST_HOLDERS_ALONE || key.length > LONGEST_KEY_HELD ? 1 : CHUNK_ALONE),
    chunkLasts: isShared ? CHUNK_LASTS.shared : CHUNK_LASTS.alone,
    onHeld: (counter) => holders.add(counter),
  });
  const table = createLocalCounterTable({ isBusy: queue.isBusy, keepsWhatIsKnown: isShared });

  /** Spends what the claim reserved, or gives it back. */
  const settle = ({ counter, cost }: Claim, { reserved, seq, granted, source }: Grant, passed: boolean): void => {
    if (source === "store_down" && granted && !passed && counter.awaySeq === seq) counter.awaySpent -= cost;
    if (reserved === 0) return;
    if (counter.seq === seq) {
      counter.reserved -= reserved;
      if (passed) {
        counter.movedAt = clock.monotonic();
      } else {
        counter.held += reserved;
        holders.add(counter);
      }
    } else if (!passed) {
      charger.refundLate(counter, seq, reserved);
    }
    queue.reservationEnded(counter);
  };

  /**
   * What one limit of several reports (ratelimit §7): after a batch that passed, what is left after its own cost and
   * that of the claims before it; after one that failed, what it has beside those before it.
   */
  const resultOf = ({ counter, limit, cost, earlier, call }: Claim, grant: Grant, passed: boolean): CheckResult => {
    const { granted, seq, now, remaining, source } = grant;
    onDecision?.(granted, source, call.isOwn);
    const reset = windowEnd(now, counter.duration);
    if (!granted) return { passed: false, remaining: 0, reset };
    if (source === "store_down") return { passed: true, remaining: limit - counter.awaySpent, reset };
    if (counter.seq !== seq) return { passed: true, remaining, reset };
    const notItsOwn = passed ? earlier + cost - costOn(counter, call.claims) : earlier;
    return { passed: true, remaining: Math.max(0, limit - usedAt(counter, now) - notItsOwn), reset };
  };

  const reportDegraded = (claims: readonly Claim[], decision: Decision): Decision => {
    if (decision.storeAway) claims[0]?.call.behalf?.degrade?.("ratelimits");
    return decision;
  };

  /** The one step in which all is spent, or all is given back. */
  const conclude = (claims: readonly Claim[], grants: readonly Grant[]): Decision => {
    const passed = grants.every(({ granted }) => granted);
    if (claims.length === 1) {
      const { granted, remaining, now, source } = grants[0] as Grant;
      const { counter, call } = claims[0] as Claim;
      onDecision?.(granted, source, call.isOwn);
      const reset = windowEnd(now, counter.duration);
      return reportDegraded(claims, { passed, results: [{ passed, remaining, reset }], storeAway: source === "store_down" });
    }
    for (const [i, claim] of claims.entries()) settle(claim, grants[i] as Grant, passed);
    const results = claims.map((claim, i) => resultOf(claim, grants[i] as Grant, passed));
    return reportDegraded(claims, { passed, results, storeAway: grants.some(({ source }) => source === "store_down") });
  };

  const concludeInTurn = async (claims: readonly Claim[]): Promise<Decision> => {
    const answers = await Promise.allSettled(claims.map((claim) => claim.grant ?? queue.decideInTurn(claim)));
    const failed = answers.find((answer) => answer.status === "rejected");
    if (failed) {
      for (const claim of claims) if (claim.grant) settle(claim, claim.grant, false);
      throw failed.reason;
    }
    const grants = answers.map((answer) => (answer as PromiseFulfilledResult<Grant>).value);
    const decision = conclude(claims, grants);
    // One that has refused is likely to be asked again at once, and may refuse from memory then.
    for (const [i, { counter }] of claims.entries()) if (grants[i]?.granted) table.close(counter, clock.monotonic());
    return decision;
  };

  const refund = async (counter: LocalCounter): Promise<void> => {
    await queue.refund(counter);
    if (counter.held === 0) holders.delete(counter);
  };

  const refundAll = async (idle: Iterable<LocalCounter>): Promise<void> => {
    for (const batch of chunks([...idle], isShared ? REFUNDS_AT_ONCE : REFUNDS_AT_ONCE_ALONE)) await Promise.all(batch.map(refund));
  };

  const walkHolders = resumableWalk(holders);

  const reclaimIdle = async (): Promise<void> => {
    const monotonic = clock.monotonic();
    const now = clock.now();
    table.evictIdle(LOOK_AT_PER_ROUND, now, monotonic);
    const idle: LocalCounter[] = [];
    const isWanted = isShared || holders.size >= MANY_HOLDERS_ALONE;
    for (const counter of walkHolders(LOOK_AT_PER_ROUND)) {
      const windowsAgo = windowAt(now, counter.duration) - counter.seq;
      if (!isShared && windowsAgo > 1 && !queue.isBusy(counter)) counter.held = 0;
      if (counter.held === 0) holders.delete(counter);
      else if (isWanted && (windowsAgo > 0 || monotonic - counter.movedAt >= REFUND_IDLE_MS)) idle.push(counter);
      if (idle.length === REFUNDS_PER_ROUND) break;
    }
    await refundAll(idle);
  };

  const rounds = createRounds(RECLAIM_EVERY_MS, reclaimIdle);

  return {
    clock,
    check: (checks, now, behalf, isOwn = false) => {
      // Of the right length from the start: an array that grows takes room for 17.
      const claims = new Array<Claim>(checks.length);
      const monotonic = clock.monotonic();
      const call: LimitedCall = { claims, now, monotonic, behalf, isOwn, lost: false };
      for (let i = 0; i < checks.length; i++) {
        const { key, duration, limit, cost } = checks[i] as Check;
        const counter = table.open(key, duration, monotonic);
        const earlier = i === 0 ? 0 : costOn(counter, claims.slice(0, i));
        claims[i] = { counter, limit, cost, earlier, call, grant: undefined };
      }
      for (let i = 0; i < claims.length; i++) {
        const claim = claims[i] as Claim;
        // Of claims on one counter the later ones wait for the earlier ones.
        const isBehind = claim.earlier > 0 && claims.slice(0, i).some((other) => other.counter === claim.counter && !other.grant);
        claim.grant = isBehind ? undefined : queue.decideNow(claim);
      }
      let isDecided = true;
      for (const claim of claims) {
        // One that was looked at before another one refused only has to tell what it has.
        if (call.lost) claim.grant ??= queue.decideNow(claim);
        if (!claim.grant) isDecided = false;
      }
      return isDecided
        ? conclude(
            claims,
            claims.map(({ grant }) => grant as Grant),
          )
        : concludeInTurn(claims);
    },
    peek: createPeek({ clock, counters: sharedCounters, find: table.find }),
    readBoth: createReadBoth({ counters: sharedCounters, find: table.find }),
    held: (key) => {
      const counter = table.find(key);
      return counter && { seq: counter.seq, amount: counter.held + counter.reserved, current: counter.current };
    },
    keyPrefix: () => "",
    start: () => rounds.start(),
    reclaimIdle,
    stop: async () => {
      await rounds.stop();
      await refundAll(holders);
      await charger.settled();
    },
    size: table.size,
  };
};
