import type { WorkerPages } from "./workerPages.ts";

/** A worker that does not answer for so long is shown as it was. Milliseconds; a scrape waits for ten seconds, as a rule. */
const PAGE_WITHIN_MS = 2_000;

/** Asks workers for their metrics. */
export interface PageCollector {
  /** Asks all of them; resolves when each has answered, has ended or is late. Calls that come meanwhile share it. */
  readonly collect: () => Promise<void>;
  /** A worker has answered. */
  readonly take: (worker: number, text: string) => void;
  /** A worker has ended. */
  readonly retire: (worker: number) => void;
}

/** @param ask asks all that can answer, and says which. */
export const createPageCollector = (pages: WorkerPages, ask: () => readonly number[]): PageCollector => {
  const asked = new Set<number>();
  let collecting: PromiseWithResolvers<void> | undefined;
  const settle = (worker: number): void => {
    asked.delete(worker);
    if (asked.size === 0) collecting?.resolve();
  };
  const collectNow = async (done: PromiseWithResolvers<void>): Promise<void> => {
    for (const worker of ask()) asked.add(worker);
    const late = setTimeout(done.resolve, PAGE_WITHIN_MS);
    if (asked.size > 0) await done.promise;
    clearTimeout(late);
    asked.clear();
    collecting = undefined;
  };
  return {
    collect: () => {
      if (collecting === undefined) {
        const done = Promise.withResolvers<void>();
        collecting = done;
        return collectNow(done);
      }
      return collecting.promise;
    },
    take: (worker, text) => {
      pages.take(worker, text);
      settle(worker);
    },
    retire: (worker) => {
      pages.retire(worker);
      settle(worker);
    },
  };
};
