import type { Clock } from "../../platform/base/clock.ts";
import { type SweptCollection, sweptCollections } from "../../platform/storage/port/sweptCollections.ts";
import type { LeasesRepository } from "../../platform/storage/repositories/leasesRepository.ts";
import { createLeasedRounds, type LeasedRounds } from "./leasedRounds.ts";
import { type SweptKind, sweepSteps } from "./sweepSteps.ts";
import type { SweepsRepository } from "./sweepsRepository.ts";

const RUN_EVERY_MS = 5_000;
/**
 * Between a deletion and its sweep. Every call that may still write the id has ended by then (its deadline is 60 s), and
 * nothing cached is as old: the sweep changes what nobody looks at, and finds all of it.
 */
const SETTLED_AFTER_MS = 120_000;
/** More than so many deleted objects of one kind wait for the next round. */
const AT_ONCE = 1_000;

/** How much of each kind was swept. */
export type Swept = Readonly<Record<SweptKind, number>>;

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
export const createSweeper = (options: SweeperOptions): LeasedRounds => {
  const { clock, leaseClock, leases, sweeps, onDue, onBatch, onStart, onEnd, onError } = options;
  const findDue = async (): Promise<Readonly<Record<SweptCollection, readonly string[]>>> => {
    const until = clock.now() - SETTLED_AFTER_MS;
    const found: Record<SweptCollection, readonly string[]> = { apis: [], identities: [], permissions: [], roles: [] };
    for (const collection of sweptCollections) {
      found[collection] = await sweeps.findDue(collection, until, AT_ONCE);
      onDue?.(collection, found[collection].length);
    }
    return found;
  };

  return createLeasedRounds({
    name: "sweep",
    clock,
    leaseClock,
    leases,
    every: RUN_EVERY_MS,
    onError,
    round: async ({ takeLease, goOn }) => {
      const due = await findDue();
      if (Object.values(due).every((ids) => ids.length === 0)) return;
      if (!(await takeLease())) return;
      const { apis, identities, permissions, roles } = due;
      onStart?.({ apis: apis.length, identities: identities.length, permissions: permissions.length, roles: roles.length });

      const swept: Record<SweptKind, number> = { keys: 0, identities: 0, references: 0 };
      const startedAt = clock.monotonic();
      let finished = true;
      for await (const { kind, count } of sweepSteps(sweeps, due)) {
        swept[kind] += count;
        onBatch?.(kind, count);
        finished = await goOn();
        if (!finished) break;
      }
      onEnd?.({ swept, milliseconds: clock.monotonic() - startedAt, finished });
      if (finished) await findDue();
    },
  });
};
