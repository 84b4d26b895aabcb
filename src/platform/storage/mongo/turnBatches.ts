import { systemClock } from "../../base/clock.ts";
import { StoreUnavailableError } from "../port/errors.ts";

/** What waits to be sent, and is settled by whoever sends it. */
interface Job {
  readonly key: string;
  readonly reject: (error: unknown) => void;
}

export interface TurnBatchesOptions<J> {
  /** Sends one batch, sorted by key, and settles each job of it. Never rejects. */
  readonly send: (jobs: readonly J[]) => Promise<void>;
  /** Jobs of one batch, at most. */
  readonly most: number;
  /** Batches under way at the same time, at most. */
  readonly atOnce: number;
  /** The longest that a job waits to be sent, in milliseconds. */
  readonly patience: number;
}

interface Waiting<J> {
  readonly job: J;
  readonly until: number;
}

const byKey = (a: Job, b: Job): number => (a.key < b.key ? -1 : 1);

/**
 * Sends the jobs of one turn of the event loop as one batch. While as many batches as may be are under way, what comes waits
 * and leaves together: the slower the server, the larger the batches. A batch has no two jobs of one key, the second leaves
 * with a later one; and it is sorted by key, so that of two batches which lock what they touch neither waits for the other
 * while that waits for it.
 *
 * A job that waited longer than its caller does is never sent, and rejects with `StoreUnavailableError`.
 */
export const createTurnBatches = <J extends Job>({ send, most, atOnce, patience }: TurnBatchesOptions<J>): ((job: J) => void) => {
  let waiting: Waiting<J>[] = [];
  let underWay = 0;
  let isDue = false;

  const takeBatch = (): J[] => {
    const now = systemClock.monotonic();
    const batch = new Map<string, J>();
    const later: Waiting<J>[] = [];
    for (const each of waiting) {
      const { job, until } = each;
      if (until < now) job.reject(new StoreUnavailableError("what was asked of the store before took too long", { tooSlow: true }));
      else if (batch.size === most || batch.has(job.key)) later.push(each);
      else batch.set(job.key, job);
    }
    waiting = later;
    return [...batch.values()].sort(byKey);
  };

  const sendAll = (): void => {
    isDue = false;
    while (waiting.length > 0 && underWay < atOnce) {
      const batch = takeBatch();
      if (batch.length === 0) continue;
      underWay++;
      void send(batch).then(() => {
        underWay--;
        fallDue();
      });
    }
  };

  const fallDue = (): void => {
    if (isDue || waiting.length === 0 || underWay === atOnce) return;
    isDue = true;
    setImmediate(sendAll);
  };

  return (job) => {
    waiting.push({ job, until: systemClock.monotonic() + patience });
    fallDue();
  };
};
