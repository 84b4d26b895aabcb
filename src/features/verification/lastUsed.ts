import type { Clock } from "../../platform/base/clock.ts";
import { chunks } from "../../platform/util/chunks.ts";
import { createRounds } from "../../platform/util/rounds.ts";

/** Each key is written at most this often by one node. */
const WRITE_EVERY_MS = 60_000;
const FLUSH_EVERY_MS = 5_000;
/** Keys of one store write: few enough to end well within an operation's time. */
const KEYS_PER_WRITE = 500;

/** When keys were used last: a write-behind buffer, so that no answer waits for the store (verify §10). */
export interface LastUsed {
  /** Notes a use at `now` (Unix ms); earlier ones than the last change nothing. */
  readonly mark: (id: string, now: number) => void;
  readonly start: () => void;
  /** Writes all that is not written yet; begins no further write once `signal` is aborted. */
  readonly stop: (signal?: AbortSignal) => Promise<void>;
}

interface Use {
  readonly id: string;
  usedAt: number;
  /** Used since it was written. */
  dirty: boolean;
  /** Monotonic ms. */
  writtenAt: number;
}

export interface LastUsedOptions {
  readonly clock: Clock;
  /** Gets at most 500 keys. What it could not write is tried again. */
  readonly write: (times: ReadonlyMap<string, number>) => Promise<void>;
  readonly onError?: (error: unknown) => void;
}

/** Goes by the monotonic clock, so that a wall clock which is turned makes it neither write more often nor stop writing. */
export const createLastUsed = ({ clock, write, onError }: LastUsedOptions): LastUsed => {
  const uses = new Map<string, Use>();
  const dirty = new Set<Use>();
  let forgotAt = clock.monotonic();

  const isResting = ({ writtenAt }: Use, now: number): boolean => now - writtenAt < WRITE_EVERY_MS;

  const writeChunk = async (chunk: readonly Use[], now: number): Promise<void> => {
    const times = new Map(chunk.map(({ id, usedAt }) => [id, usedAt]));
    await write(times);
    for (const use of chunk) {
      use.writtenAt = now;
      // Used once more while it was written: that is for the next time.
      if (use.usedAt !== times.get(use.id)) continue;
      use.dirty = false;
      dirty.delete(use);
    }
  };

  /** Of a key that nobody uses any more nothing is kept. */
  const evictIdle = (now: number): void => {
    if (now - forgotAt < WRITE_EVERY_MS) return;
    forgotAt = now;
    for (const [id, use] of uses) {
      if (!use.dirty && !isResting(use, now)) uses.delete(id);
    }
  };

  const flush = async (all: boolean, signal?: AbortSignal): Promise<void> => {
    const now = clock.monotonic();
    const due = [...dirty].filter((use) => all || !isResting(use, now));
    for (const chunk of chunks(due, KEYS_PER_WRITE)) {
      signal?.throwIfAborted();
      await writeChunk(chunk, now);
    }
    evictIdle(now);
  };

  const rounds = createRounds(FLUSH_EVERY_MS, () => flush(false), onError);

  return {
    mark: (id, now) => {
      let use = uses.get(id);
      if (use === undefined) {
        use = { id, usedAt: now, dirty: false, writtenAt: Number.NEGATIVE_INFINITY };
        uses.set(id, use);
      } else {
        if (now <= use.usedAt) return;
        use.usedAt = now;
      }
      if (use.dirty) return;
      use.dirty = true;
      dirty.add(use);
    },
    start: () => rounds.start(),
    stop: async (signal) => {
      await rounds.stop();
      await flush(true, signal).catch((error: unknown) => onError?.(error));
    },
  };
};
