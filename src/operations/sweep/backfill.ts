import type { Clock } from "../../platform/base/clock.ts";
import type { BackfillState, SystemDocument } from "../../platform/storage/port/internalDocuments.ts";
import type { LeasesRepository } from "../../platform/storage/repositories/leasesRepository.ts";
import { type BackfillsRepository, SEARCHABLE_SINCE } from "./backfillsRepository.ts";
import { createLeasedRounds, type LeasedRounds } from "./leasedRounds.ts";

const RUN_EVERY_MS = 60_000;
/** Documents of one batch: it keeps the event loop and the writer for a few milliseconds. */
const BATCH = 100;
/** Batches between two notes of how far it has come; what was done since is done again after a crash, and finds nothing. */
const NOTE_EVERY = 10;
/** Batches between two lines of the log. */
const TELL_EVERY = 1_000;
/**
 * A node of an earlier version goes on until it is replaced, and keeps no such text in step: where there may be one, a second
 * pass, so long after the first, finds what it has left.
 */
const UPGRADED_AFTER_MS = 86_400_000;

/** How far a pass has come. */
export interface BackfillProgress {
  readonly pass: number;
  /** Documents, in this pass. */
  readonly lookedAt: number;
  readonly filled: number;
}

/** Who else writes to the store. */
export interface Writers {
  /** Other nodes, of an earlier version perhaps. */
  readonly isShared: boolean;
  /** None of an earlier version for certain: one pass is enough, and one that is left need not wait. False unless told. */
  readonly allAreCurrent?: boolean;
}

export interface BackfillOptions extends Writers {
  /** The same for all nodes, and never one that somebody turns. */
  readonly clock: Clock;
  readonly leases: LeasesRepository;
  readonly backfills: BackfillsRepository;
  /** Somebody waits for it: short rests, and `onProgress` at each note. */
  readonly isAwaited?: boolean;
  /** A pass begins or, after an interruption, goes on. */
  readonly onStart?: (progress: BackfillProgress) => void;
  readonly onProgress?: (progress: BackfillProgress) => void;
  readonly onEnd?: (progress: BackfillProgress) => void;
  readonly onError?: (error: unknown) => void;
}

const passFrom = (pass: number): BackfillState => ({ pass, collection: "keys", after: "", lookedAt: 0, filled: 0 });

const progressOf = ({ pass, lookedAt, filled }: BackfillState): BackfillProgress => ({ pass, lookedAt, filled });

/**
 * Where the walk over a store goes on at `now` (Unix ms); `later`: another pass follows, but not yet; `never`: it is over, or was never needed.
 * @param schema the store's own row
 */
export const dueBackfill = (
  schema: SystemDocument | null,
  { isShared, allAreCurrent = false }: Writers,
  now: number,
): BackfillState | "later" | "never" => {
  if (schema === null || schema.v >= SEARCHABLE_SINCE) return "never";
  const lastPass = isShared ? 2 : 1;
  const { backfill: state = passFrom(allAreCurrent ? lastPass : 1) } = schema;
  if (state.endedAt === undefined) return state;
  if (state.pass >= lastPass) return "never";
  return allAreCurrent || now - state.endedAt >= UPGRADED_AFTER_MS ? passFrom(state.pass + 1) : "later";
};

/**
 * Makes keys and identities of earlier versions searchable by name and externalId (management §2), without waiting for their
 * next update: a walk over all of them, once, in the background.
 */
export const createBackfill = (options: BackfillOptions): LeasedRounds => {
  const { clock, leases, backfills, isAwaited = false, onStart, onProgress, onEnd, onError } = options;
  const tellEvery = isAwaited ? NOTE_EVERY : TELL_EVERY;
  /** A store never needs it again once it does not. */
  let isOver = false;

  /** Where the pass that is due goes on. */
  const findDue = async (): Promise<BackfillState | undefined> => {
    const due = dueBackfill(await backfills.find(), options, clock.now());
    isOver = due === "never";
    return typeof due === "string" ? undefined : due;
  };

  /** One batch; the state behind it. */
  const step = async (state: BackfillState): Promise<BackfillState> => {
    const { collection, after } = state;
    const fill = collection === "keys" ? backfills.fillKeys : backfills.fillIdentities;
    const { lookedAt, filled, next } = await fill(after, BATCH);
    const counted = { ...state, lookedAt: state.lookedAt + lookedAt, filled: state.filled + filled };
    if (next !== undefined) return { ...counted, after: next };
    return collection === "keys" ? { ...counted, collection: "identities", after: "" } : { ...counted, endedAt: clock.now() };
  };

  return createLeasedRounds({
    name: "backfill",
    clock,
    leaseClock: clock,
    leases,
    every: RUN_EVERY_MS,
    pace: isAwaited ? "brisk" : "background",
    onError,
    round: async ({ takeLease, goOn }) => {
      if (isOver || (await findDue()) === undefined || !(await takeLease())) return;
      // Another node may have been at it until now.
      let state = await findDue();
      if (state === undefined) return;
      onStart?.(progressOf(state));
      for (let batches = 1; ; batches++) {
        state = await step(state);
        const ended = state.endedAt !== undefined;
        const goesOn = !ended && (await goOn());
        if (!goesOn || batches % NOTE_EVERY === 0) await backfills.save(state);
        if (ended) onEnd?.(progressOf(state));
        else if (batches % tellEvery === 0) onProgress?.(progressOf(state));
        if (!goesOn) return;
      }
    },
  });
};
