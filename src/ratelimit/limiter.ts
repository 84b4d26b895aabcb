import type { Clock } from "../domain/clock.ts";
import { windowAt, windowEnd } from "../domain/slidingWindow.ts";
import type { CountersRepository } from "../storage/counters.ts";
import { StoreUnavailableError } from "../storage/errors.ts";
import { type Counter, createCounter, isDenied, remainingAt, rememberDenial, takeHeld, usedAt } from "./counter.ts";
import { createExchange } from "./exchange.ts";

/** Budget that nobody spends for so long goes back to the shared counter. */
const REFUND_IDLE_MS = 1_000;
/** A counter without budget is forgotten after this long; what it knew is read again when needed. */
const FORGET_IDLE_MS = 60_000;
const SWEEP_EVERY_MS = 500;
const FORGET_PER_SWEEP = 20_000;
/** Limits up to this are charged one cost at a time, so that several nodes waste none of them. */
const UNCHUNKED_LIMIT = 20;
const CHUNK_SHARE = 20;

/** One limit to check: `limit` tokens per `duration` ms on the counter `key`, of which this call wants `cost`. */
export interface Check {
  readonly key: string;
  readonly limit: number;
  readonly duration: number;
  readonly cost: number;
}

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
}

/** What to do beyond the held budget while the store is away: at most one further limit per node and window, or nothing. */
export type StoreDownPolicy = "allow" | "deny";

/** Budget or a remembered denial held in memory, the store, or the policy for a store that is away. */
export type DecisionSource = "memory" | "store" | "store_down";

export interface Limiter {
  /** Checks all limits as one all-or-nothing step (ratelimit §3, verify §5). Never rejects because of the store. */
  readonly check: (checks: readonly Check[], now: number) => Decision | Promise<Decision>;
  readonly start: () => void;
  /** Gives all held budget back. */
  readonly stop: () => Promise<void>;
  readonly size: () => number;
}

export interface LimiterOptions {
  readonly clock: Clock;
  readonly counters: CountersRepository;
  readonly storeDown: StoreDownPolicy;
  /** Hears of every decision on one limit, and of who made it. */
  readonly onDecision?: (passed: boolean, source: DecisionSource) => void;
}

/** Budget taken for one check, to be spent or given back together with that of the other checks. */
interface Grant {
  readonly counter: Counter;
  readonly granted: boolean;
  /** Window the budget is of; a different one since means that there is nothing to give back to. */
  readonly seq: number;
  /** Time at which it was judged. */
  readonly now: number;
  readonly remaining: number;
  readonly source: DecisionSource;
}

interface Waiter {
  readonly check: Check;
  readonly resolve: (grant: Grant) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Rate limits over counters that nodes share (DESIGN §4): a node charges budget to the shared counter before it admits
 * anything out of it, so nodes together never admit more than the limit. While it holds budget it decides without
 * the store; otherwise the calls of one counter wait in order of arrival behind one operation.
 */
export const createLimiter = ({ clock, counters: repository, storeDown, onDecision }: LimiterOptions): Limiter => {
  const exchange = createExchange(repository, clock);
  const counters = new Map<string, Counter>();
  const queues = new Map<Counter, Waiter[]>();
  const holders = new Set<Counter>();
  let timer: NodeJS.Timeout | undefined;

  const counterOf = ({ key, duration }: Check): Counter => {
    let counter = counters.get(key);
    if (counter === undefined) {
      counter = createCounter(key, duration);
      counters.set(key, counter);
    }
    return counter;
  };

  const grant = (counter: Counter, granted: boolean, limit: number, now: number, source: DecisionSource): Grant => ({
    counter,
    granted,
    seq: counter.seq,
    now,
    remaining: granted ? remainingAt(counter, limit, now) : 0,
    source,
  });

  /** Decides from memory, or not at all. */
  const decideLocally = (counter: Counter, { limit, cost }: Check, now: number): Grant | undefined => {
    if (takeHeld(counter, windowAt(now, counter.duration), limit, cost)) return grant(counter, true, limit, now, "memory");
    if (cost > limit || isDenied(counter, limit, cost, now)) return grant(counter, false, limit, now, "memory");
    return undefined;
  };

  const chunkFor = (counter: Counter, limit: number, need: number): number => {
    if (limit <= UNCHUNKED_LIMIT) return need;
    // Twice the chunk when it lasted less than 200 ms, half of it when it lasted more than a second.
    const now = clock.monotonic();
    const lasted = now - counter.chargedAt;
    counter.chargedAt = now;
    counter.chunk = lasted < 200 ? counter.chunk * 2 : lasted > 1_000 ? Math.max(1, Math.floor(counter.chunk / 2)) : counter.chunk;
    const share = Math.max(1, Math.floor((limit - usedAt(counter, clock.now())) / CHUNK_SHARE));
    counter.chunk = Math.min(counter.chunk, share);
    return Math.max(need, counter.chunk);
  };

  /** Asks the store on behalf of the first waiter, with the needs of those behind it that share its limit. */
  const decideWithStore = async (counter: Counter, queue: readonly Waiter[], { limit, cost }: Check): Promise<Grant> => {
    if (cost === 0) {
      const now = await exchange.refresh(counter);
      return grant(counter, usedAt(counter, now) <= limit, limit, now, "store");
    }
    let sum = 0;
    for (const { check } of queue) {
      if (check.limit !== limit || check.cost === 0) break;
      sum += check.cost;
    }
    const charged = await exchange.charge(counter, limit, cost, chunkFor(counter, limit, sum));
    const now = Math.max(clock.now(), counter.seq * counter.duration);
    if (counter.held > 0) holders.add(counter);
    if (charged && takeHeld(counter, counter.seq, limit, cost)) return grant(counter, true, limit, now, "store");
    if (!charged) rememberDenial(counter, limit, cost, now);
    return grant(counter, false, limit, now, "store");
  };

  const decideWithoutStore = (counter: Counter, { limit, cost }: Check): Grant => {
    const now = clock.now();
    const seq = windowAt(now, counter.duration);
    if (counter.awaySeq !== seq) {
      counter.awaySeq = seq;
      counter.awaySpent = 0;
    }
    const granted = storeDown === "allow" && counter.awaySpent + cost <= limit;
    if (granted) counter.awaySpent += cost;
    return { counter, granted, seq, now, remaining: granted ? limit - counter.awaySpent : 0, source: "store_down" };
  };

  /** Serves the waiters in order of arrival; whoever comes meanwhile joins the queue. */
  const drain = async (counter: Counter, queue: Waiter[]): Promise<void> => {
    for (let first = queue[0]; first !== undefined; first = queue[0]) {
      const now = Math.max(clock.now(), counter.seq * counter.duration);
      try {
        const decided = decideLocally(counter, first.check, now) ?? (await decideWithStore(counter, queue, first.check));
        queue.shift();
        first.resolve(decided);
      } catch (error) {
        // Everyone who waits now would only wait for the same answer.
        const waiters = queue.splice(0);
        if (error instanceof StoreUnavailableError) {
          for (const { check, resolve } of waiters) resolve(decideWithoutStore(counter, check));
        } else {
          for (const { reject } of waiters) reject(error);
        }
      }
    }
    queues.delete(counter);
  };

  const enqueue = (counter: Counter, check: Check): Promise<Grant> => {
    const { promise, resolve, reject } = Promise.withResolvers<Grant>();
    const waiter: Waiter = { check, resolve, reject };
    const queue = queues.get(counter);
    if (queue) {
      queue.push(waiter);
    } else {
      const fresh = [waiter];
      queues.set(counter, fresh);
      void drain(counter, fresh);
    }
    return promise;
  };

  /** Gives the held budget back; calls that come meanwhile wait, so that none is judged without it. */
  const refund = async (counter: Counter): Promise<void> => {
    if (queues.has(counter)) return;
    const queue: Waiter[] = [];
    queues.set(counter, queue);
    // Lost if the store is away: given twice it would admit too much, lost it admits too little for a while.
    await exchange.refund(counter).catch(() => undefined);
    holders.delete(counter);
    await drain(counter, queue);
  };

  const obtain = (check: Check, now: number): Grant | Promise<Grant> => {
    const counter = counterOf(check);
    counter.usedAt = clock.monotonic();
    // Calls that arrived earlier come first.
    return (queues.has(counter) ? undefined : decideLocally(counter, check, now)) ?? enqueue(counter, check);
  };

  const giveBack = ({ counter, granted, seq, source }: Grant, cost: number): void => {
    if (!granted) return;
    if (source === "store_down") {
      if (counter.awaySeq === seq) counter.awaySpent -= cost;
    } else if (counter.seq === seq) {
      counter.held += cost;
      counter.deniedUntil = 0;
      if (cost > 0) holders.add(counter);
    }
  };

  /** The one step in which all is taken, or all is given back. */
  const conclude = (checks: readonly Check[], grants: readonly Grant[]): Decision => {
    const passed = grants.every(({ granted }) => granted);
    if (!passed) {
      for (const [i, each] of grants.entries()) giveBack(each, (checks[i] as Check).cost);
    }
    const results = grants.map(({ counter, granted, remaining, now, source }, i): CheckResult => {
      const { limit } = checks[i] as Check;
      onDecision?.(granted, source);
      const left = passed || !granted ? remaining : source === "store_down" ? limit - counter.awaySpent : remainingAt(counter, limit, now);
      return { passed: granted, remaining: left, reset: windowEnd(now, counter.duration) };
    });
    return { passed, results };
  };

  let forgetting = counters.entries();

  /** Looks at a part of the counters, so that a million of them never hold up the event loop. */
  const forgetIdle = (monotonic: number): void => {
    for (let i = 0; i < FORGET_PER_SWEEP; i++) {
      const { done, value } = forgetting.next();
      if (done) {
        forgetting = counters.entries();
        return;
      }
      const [key, counter] = value;
      if (monotonic - counter.usedAt >= FORGET_IDLE_MS && counter.held === 0 && !queues.has(counter)) counters.delete(key);
    }
  };

  const sweep = async (): Promise<void> => {
    const monotonic = clock.monotonic();
    const now = clock.now();
    forgetIdle(monotonic);
    const refunds: Promise<void>[] = [];
    for (const counter of holders) {
      const windowOver = windowAt(now, counter.duration) > counter.seq;
      if (counter.held === 0) holders.delete(counter);
      else if (windowOver || monotonic - counter.usedAt >= REFUND_IDLE_MS) refunds.push(refund(counter));
    }
    await Promise.all(refunds);
  };

  const schedule = (): void => {
    timer = setTimeout(() => void sweep().finally(() => timer && schedule()), SWEEP_EVERY_MS);
    timer.unref();
  };

  return {
    check: (checks, now) => {
      const grants = checks.map((check) => obtain(check, now));
      if (grants.some((each) => each instanceof Promise)) return Promise.all(grants).then((all) => conclude(checks, all));
      return conclude(checks, grants as Grant[]);
    },
    start: schedule,
    stop: async () => {
      clearTimeout(timer);
      timer = undefined;
      await Promise.all([...holders].map(refund));
    },
    size: () => counters.size,
  };
};
