import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../platform/base/clock.ts";
import { createId } from "../../platform/base/ids.ts";
import type { LeasesRepository } from "../../platform/storage/repositories/leasesRepository.ts";
import { createRounds } from "../../platform/util/rounds.ts";

/** After a start there may be what an earlier process left undone. */
const FIRST_RUN_MS = 1_000;
const LEASE_MS = 10_000;
const RENEW_EVERY_MS = 3_000;
/**
 * So many times as long as a batch took nothing is done after it, and for how long at least. In the background the work takes a small
 * share of the store's time; where somebody waits for it, half.
 */
const RESTS = { background: { times: 20, leastMs: 20 }, brisk: { times: 1, leastMs: 0 } } as const;
const REST_MOST_MS = 1_000;

/** What a round asks for while it works. */
export interface RoundControl {
  /** True when this node may work: no other one does. */
  readonly takeLease: () => Promise<boolean>;
  /** Rests after a batch. False: the service stops, or another node has taken over; the round ends then. */
  readonly goOn: () => Promise<boolean>;
}

/** Work in the background that one node does at a time. */
export interface LeasedRounds {
  readonly start: () => void;
  /** One round now, unless another node is at it; used by tests. */
  readonly run: () => Promise<void>;
  /** Ends after the batch that runs; the rest is for another node, or the next start. */
  readonly stop: () => Promise<void>;
}

export interface LeasedRoundsOptions {
  /** Of the lease. */
  readonly name: string;
  readonly clock: Clock;
  /** Of leases: the same for all nodes, and never one that somebody turns. */
  readonly leaseClock: Clock;
  readonly leases: LeasesRepository;
  /** Milliseconds between two rounds. */
  readonly every: number;
  /** `background` unless told. */
  readonly pace?: keyof typeof RESTS;
  /** A round; one that has nothing to do takes no lease, and so writes nothing. */
  readonly round: (control: RoundControl) => Promise<void>;
  readonly onError: ((error: unknown) => void) | undefined;
}

/** Runs rounds of work that may be left after any batch and gone on with by another node, with long rests between the batches. */
export const createLeasedRounds = (options: LeasedRoundsOptions): LeasedRounds => {
  const { name, clock, leaseClock, leases, every, pace = "background", round, onError } = options;
  const rest = RESTS[pace];
  const node = createId("node", leaseClock.now());
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  /** Monotonic time at which the lease was taken or renewed last. */
  let leasedAt: number | undefined;
  /** When the batch that runs began. */
  let batchAt = 0;

  const takeLease = async (): Promise<boolean> => {
    const now = leaseClock.monotonic();
    if (leasedAt === undefined || now - leasedAt >= RENEW_EVERY_MS) {
      leasedAt = (await leases.acquire(name, node, leaseClock.now(), LEASE_MS)) ? now : undefined;
    }
    batchAt = clock.monotonic();
    return leasedAt !== undefined;
  };

  const goOn = async (): Promise<boolean> => {
    const wanted = Math.min(REST_MOST_MS, Math.max(rest.leastMs, (clock.monotonic() - batchAt) * rest.times));
    // What nobody waits for does not keep the process.
    await sleep(wanted, undefined, { signal: stopping.signal, ref: pace === "brisk" }).catch(() => undefined);
    return !stopping.signal.aborted && takeLease();
  };

  const run = (): Promise<void> => {
    running ??= round({ takeLease, goOn }).finally(() => {
      running = undefined;
    });
    return running;
  };

  const rounds = createRounds(every, run, onError);

  return {
    start: () => rounds.start(FIRST_RUN_MS),
    run,
    stop: async () => {
      stopping.abort();
      await rounds.stop();
      try {
        await running;
        if (leasedAt !== undefined) await leases.release(name, node);
      } catch (error) {
        onError?.(error);
      }
    },
  };
};
