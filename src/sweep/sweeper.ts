import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../domain/clock.ts";
import { createId } from "../domain/ids.ts";
import type { LeasesRepository } from "../storage/leases.ts";
import { type SweepsRepository, type SweptCollection, sweptCollections } from "../storage/sweeps.ts";
import { type SweptKind, sweepSteps } from "./sweepSteps.ts";

const RUN_EVERY_MS = 5_000;
/** After a start there may be what an earlier process left undone. */
const FIRST_RUN_MS = 1_000;
/**
 * Between a deletion and its sweep. Every call that may still write the id has ended by then (its deadline is 60 s), and
 * nothing cached is as old: the sweep changes what nobody looks at, and finds all of it.
 */
const SETTLED_AFTER_MS = 120_000;
const LEASE_MS = 10_000;
const RENEW_EVERY_MS = 3_000;
/** So many times as long as a batch took nothing is done after it: the sweep takes a small share of the store's time. */
const REST = 20;
const REST_MS = { least: 20, most: 1_000 } as const;
/** More than so many deleted objects of one kind wait for the next round. */
const AT_ONCE = 1_000;

/** How much of each kind was swept. */
export type Swept = Readonly<Record<SweptKind, number>>;

export interface Sweeper {
  readonly start: () => void;
  /** Sweeps all that is due now, unless another node does; used by tests. */
  readonly run: () => Promise<void>;
  /** Ends after the batch that runs; the rest is for another node, or the next start. */
  readonly stop: () => Promise<void>;
}

export interface SweeperOptions {
  /** The one that deletions are dated by. */
  readonly clock: Clock;
  /** Of leases: the same for all nodes, and never one that somebody turns. */
  readonly leaseClock: Clock;
  readonly leases: LeasesRepository;
  readonly sweeps: SweepsRepository;
  /** How many deleted objects wait for their sweep, as seen at the beginning and at the end of a round; at most 1000 are counted. */
  readonly onDue?: (collection: SweptCollection, count: number) => void;
  readonly onBatch?: (kind: SweptKind, count: number) => void;
  /** A round that had something to do begins. */
  readonly onStart?: (due: Readonly<Record<SweptCollection, number>>) => void;
  /** It ended: of itself, or because the service stops or another node took over. */
  readonly onEnd?: (facts: { readonly swept: Swept; readonly milliseconds: number; readonly finished: boolean }) => void;
  readonly onError?: (error: unknown) => void;
}

/**
 * Removes what deletions left behind (DESIGN §3): keys of deleted APIs, and the ids of deleted identities, permissions
 * and roles in what held them. The deleted object's own row is the task: it is marked by the write that deletes, and
 * goes when nothing refers to it any more. So a sweep that was interrupted is gone on with, by whichever node is there.
 */
export const createSweeper = (options: SweeperOptions): Sweeper => {
  const { clock, leaseClock, leases, sweeps, onDue, onBatch, onStart, onEnd, onError } = options;
  const node = createId("node", leaseClock.now());
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  /** Monotonic time at which the lease was taken or renewed last. */
  let leasedAt: number | undefined;

  const takeLease = async (): Promise<boolean> => {
    const now = leaseClock.monotonic();
    if (leasedAt !== undefined && now - leasedAt < RENEW_EVERY_MS) return true;
    leasedAt = (await leases.acquire("sweep", node, leaseClock.now(), LEASE_MS)) ? now : undefined;
    return leasedAt !== undefined;
  };

  const findDue = async (): Promise<Readonly<Record<SweptCollection, readonly string[]>>> => {
    const until = clock.now() - SETTLED_AFTER_MS;
    const found: Record<SweptCollection, readonly string[]> = { apis: [], identities: [], permissions: [], roles: [] };
    for (const collection of sweptCollections) {
      found[collection] = await sweeps.findDue(collection, until, AT_ONCE);
      onDue?.(collection, found[collection].length);
    }
    return found;
  };

  const rest = async (milliseconds: number): Promise<void> => {
    const wanted = Math.min(REST_MS.most, Math.max(REST_MS.least, milliseconds * REST));
    await sleep(wanted, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
  };

  const sweep = async (): Promise<void> => {
    const due = await findDue();
    // A round without work writes nothing, not even a lease.
    if (Object.values(due).every((ids) => ids.length === 0)) return;
    if (!(await takeLease())) return;
    const { apis, identities, permissions, roles } = due;
    onStart?.({ apis: apis.length, identities: identities.length, permissions: permissions.length, roles: roles.length });

    const swept: Record<SweptKind, number> = { keys: 0, identities: 0, references: 0 };
    const startedAt = clock.monotonic();
    let finished = true;
    let batchAt = startedAt;
    for await (const { kind, count } of sweepSteps(sweeps, due)) {
      swept[kind] += count;
      onBatch?.(kind, count);
      await rest(clock.monotonic() - batchAt);
      finished = !stopping.signal.aborted && (await takeLease());
      if (!finished) break;
      batchAt = clock.monotonic();
    }
    onEnd?.({ swept, milliseconds: clock.monotonic() - startedAt, finished });
    if (finished) await findDue();
  };

  const run = (): Promise<void> => {
    running ??= sweep().finally(() => {
      running = undefined;
    });
    return running;
  };

  const schedule = (milliseconds: number): void => {
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => {
      run()
        .catch((error: unknown) => onError?.(error))
        .finally(() => schedule(RUN_EVERY_MS));
    }, milliseconds);
    timer.unref();
  };

  return {
    start: () => schedule(FIRST_RUN_MS),
    run,
    stop: async () => {
      stopping.abort();
      clearTimeout(timer);
      try {
        await running;
        if (leasedAt !== undefined) await leases.release("sweep", node);
      } catch (error) {
        onError?.(error);
      }
    },
  };
};
