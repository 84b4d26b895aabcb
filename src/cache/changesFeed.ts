import type { Clock } from "../domain/clock.ts";
import { createId, timePart } from "../domain/ids.ts";
import type { ChangesRepository } from "../storage/changes.ts";
import type { Invalidations } from "./invalidations.ts";

const PUBLISH_AFTER_MS = 25;
const POLL_EVERY_MS = 500;
/** Late inserts and clock differences between nodes: each poll re-reads this much. */
const OVERLAP_MS = 10_000;
const IDS_PER_DOCUMENT = 5_000;

export interface ChangesFeed {
  /**
   * Says that these objects changed, or may have. Void on this node when it returns, so a write calls it before it is
   * acknowledged, also when its outcome is unknown; other nodes hear within a second, and by expiry at the latest.
   */
  readonly announce: (ids: readonly string[]) => void;
  readonly start: () => void;
  /** Publishes what is queued and stops polling. */
  readonly stop: () => Promise<void>;
}

export interface ChangesFeedOptions {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  readonly changes: ChangesRepository;
  readonly onError?: (error: unknown) => void;
}

/** How nodes hear of each other's writes (DESIGN §3): an append-only collection that each of them polls. */
export const createChangesFeed = ({ clock, invalidations, changes, onError }: ChangesFeedOptions): ChangesFeed => {
  const node = createId("node", clock.now());
  let queued = new Set<string>();
  let publishTimer: NodeJS.Timeout | undefined;
  let pollTimer: NodeJS.Timeout | undefined;
  let polling: Promise<void> = Promise.resolve();
  let publishing: Promise<void> = Promise.resolve();
  let stopped = false;
  /** Wall-clock time of the last poll that got an answer: while the store was away, others may have written. */
  let heardAt = clock.now();
  const seen = new Map<string, number>();

  const publish = async (): Promise<void> => {
    const ids = [...queued];
    queued = new Set();
    try {
      for (let from = 0; from < ids.length; from += IDS_PER_DOCUMENT) {
        await changes.append(createId("ch", clock.now()), node, ids.slice(from, from + IDS_PER_DOCUMENT), clock.now());
      }
    } catch (error) {
      // Other nodes' entries expire by themselves; a retry only shortens that.
      onError?.(error);
      for (const id of ids) queued.add(id);
      schedulePublish(POLL_EVERY_MS);
    }
  };

  const schedulePublish = (delay: number): void => {
    if (publishTimer || stopped) return;
    publishTimer = setTimeout(() => {
      publishTimer = undefined;
      // One after the other: who stops waits for all of them.
      publishing = publishing.then(publish);
    }, delay);
    publishTimer.unref();
  };

  const poll = async (): Promise<void> => {
    const now = clock.now();
    const since = `ch_${timePart(Math.min(now, heardAt) - OVERLAP_MS)}`;
    try {
      for (const change of await changes.listAfter(since)) {
        if (change.node === node || seen.has(change._id)) continue;
        seen.set(change._id, now);
        invalidations.invalidate(change.ids);
      }
      heardAt = now;
    } catch (error) {
      onError?.(error);
    }
    for (const [id, at] of seen) {
      if (now - at < 3 * OVERLAP_MS) break;
      seen.delete(id);
    }
  };

  const schedulePoll = (): void => {
    if (stopped) return;
    pollTimer = setTimeout(() => {
      polling = poll().then(schedulePoll);
    }, POLL_EVERY_MS);
    pollTimer.unref();
  };

  return {
    announce: (ids) => {
      invalidations.invalidate(ids);
      for (const id of ids) queued.add(id);
      schedulePublish(PUBLISH_AFTER_MS);
    },
    start: schedulePoll,
    stop: async () => {
      stopped = true;
      clearTimeout(pollTimer);
      clearTimeout(publishTimer);
      await Promise.all([polling, publishing]);
      if (queued.size > 0) await publish();
    },
  };
};
