import type { Clock } from "../domain/clock.ts";

/** Each key is written at most this often by one node. */
const WRITE_EVERY_MS = 60_000;
const FLUSH_EVERY_MS = 5_000;
/** Writes of one flush; the rest follows with the next. */
const FLUSH_AT_MOST = 500;

/** When keys were used last, written behind the answers (verify §10). */
export interface LastUsed {
  readonly mark: (id: string, now: number) => void;
  readonly start: () => void;
  /** Writes all that is not written yet. */
  readonly stop: () => Promise<void>;
}

interface Use {
  usedAt: number;
  /** What the store has been told, and when (monotonic). */
  writtenUse: number;
  writtenAt: number;
}

export interface LastUsedOptions {
  readonly clock: Clock;
  readonly write: (times: ReadonlyMap<string, number>) => Promise<void>;
  readonly onError?: (error: unknown) => void;
}

export const createLastUsed = ({ clock, write, onError }: LastUsedOptions): LastUsed => {
  const uses = new Map<string, Use>();
  /** Used since they were written. */
  const dirty = new Map<string, Use>();
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();

  const flush = async (all: boolean): Promise<void> => {
    const now = clock.monotonic();
    const times = new Map<string, number>();
    const written: Use[] = [];
    for (const [id, use] of dirty) {
      if (!all && now - use.writtenAt < WRITE_EVERY_MS) continue;
      times.set(id, use.usedAt);
      written.push(use);
      if (times.size === FLUSH_AT_MOST) break;
    }
    if (times.size > 0) {
      await write(times);
      for (const [id, use] of [...times.keys()].map((each, i) => [each, written[i] as Use] as const)) {
        use.writtenUse = times.get(id) ?? use.writtenUse;
        use.writtenAt = now;
        if (use.usedAt === use.writtenUse) dirty.delete(id);
      }
      if (times.size === FLUSH_AT_MOST) return flush(all);
    }
    for (const [id, use] of uses) {
      if (!dirty.has(id) && now - use.writtenAt >= WRITE_EVERY_MS) uses.delete(id);
    }
  };

  const schedule = (): void => {
    timer = setTimeout(() => {
      flushing = flush(false).catch((error: unknown) => onError?.(error));
      void flushing.finally(() => timer && schedule());
    }, FLUSH_EVERY_MS);
    timer.unref();
  };

  return {
    mark: (id, now) => {
      let use = uses.get(id);
      if (use === undefined) {
        use = { usedAt: now, writtenUse: 0, writtenAt: Number.NEGATIVE_INFINITY };
        uses.set(id, use);
      }
      use.usedAt = now;
      dirty.set(id, use);
    },
    start: schedule,
    stop: async () => {
      clearTimeout(timer);
      timer = undefined;
      await flushing;
      await flush(true).catch((error: unknown) => onError?.(error));
    },
  };
};
