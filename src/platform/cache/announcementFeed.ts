import type { Clock } from "../base/clock.ts";
import { createId, timePart } from "../base/ids.ts";
import type { Announcer } from "../storage/decorators/announceWrites.ts";
import type { ChangesRepository } from "../storage/repositories/changesRepository.ts";
import { createAnnouncementPublisher } from "./announcementPublisher.ts";
import type { Contact } from "./contact.ts";
import type { Invalidations } from "./invalidations.ts";
import type { Siblings } from "./siblings.ts";

/** A quarter of the time after which a node that has heard nothing trusts its memory no more. */
const POLL_EVERY_MS = 250;
const LEAST_REST_MS = 25;
/** Each poll re-reads this much: announcements arrive up to 2 s after the time in their ids, and nodes' times differ a little. */
const OVERLAP_MS = 5_000;
/** What is older than this when the feed is heard again is not listed: everything remembered is void instead. */
const CATCH_UP_MS = 30_000;
const SEEN_FOR_MS = CATCH_UP_MS + OVERLAP_MS;

export interface AnnouncementFeed extends Announcer {
  /** Id of this node. */
  readonly node: string;
  /** Milliseconds since it last heard what others announced. */
  readonly lag: () => number;
  readonly start: () => void;
  /** Publishes what is queued and stops polling. */
  readonly stop: () => Promise<void>;
}

export interface AnnouncementFeedOptions {
  readonly clock: Clock;
  readonly invalidations: Invalidations;
  readonly changes: ChangesRepository;
  /** Told whenever the store has answered what the others announced. */
  readonly contact?: Contact;
  /** Where nodes share the store, `announce` waits until the store has what is announced; else that is published soon after. */
  readonly durable: boolean;
  /** Notified of what this node has written, in addition to the announcement. */
  readonly siblings?: Siblings | undefined;
  readonly onError?: (error: unknown) => void;
}

/** How nodes hear of each other's writes (DESIGN §3): an append-only collection that each of them polls. */
export const createAnnouncementFeed = ({
  clock,
  invalidations,
  changes,
  contact,
  durable,
  siblings,
  onError,
}: AnnouncementFeedOptions): AnnouncementFeed => {
  const node = createId("node", clock.now());
  let pollTimer: NodeJS.Timeout | undefined;
  let polling: Promise<void> = Promise.resolve();
  let stopped = false;
  /** Time of the last poll that got an answer: while the store was away, others may have written. */
  let heardAt = clock.now();
  const seen = new Map<string, number>();
  const publisher = createAnnouncementPublisher({
    clock,
    append: (id, ids) => {
      seen.set(id, clock.now());
      return changes.append(id, node, ids, clock.now());
    },
    ...(onError ? { onError } : {}),
  });

  const poll = async (): Promise<void> => {
    const [now, askedAt] = [clock.now(), clock.monotonic()];
    const since = `ch_${timePart(Math.max(Math.min(now, heardAt), now - CATCH_UP_MS) - OVERLAP_MS)}`;
    try {
      for (const announcement of await changes.listAfter(since, (id) => seen.has(id))) {
        seen.set(announcement._id, now);
        if (announcement.node !== node) invalidations.hear(announcement.ids);
      }
      if (now - heardAt > CATCH_UP_MS) invalidations.forgetAll();
      heardAt = now;
      if (contact) contact.heardAt = askedAt;
    } catch (error) {
      onError?.(error);
    }
    for (const [id, at] of seen) {
      if (now - at < SEEN_FOR_MS) break;
      seen.delete(id);
    }
  };

  siblings?.onTold(invalidations.invalidate);

  const pollAgain = async (): Promise<void> => {
    const began = clock.monotonic();
    await poll();
    if (stopped) return;
    const rest = Math.max(LEAST_REST_MS, POLL_EVERY_MS - (clock.monotonic() - began));
    pollTimer = setTimeout(() => {
      polling = pollAgain();
    }, rest);
    pollTimer.unref();
  };

  return {
    node,
    lag: () => Math.max(0, clock.now() - heardAt),
    announce: (ids) => {
      if (durable) return publisher.publish(ids);
      publisher.publishSoon(ids);
      return Promise.resolve();
    },
    forget: (ids) => {
      invalidations.invalidate(ids);
      siblings?.tell(ids);
    },
    doubt: (ids) => {
      invalidations.hear(ids);
      publisher.publishSoon(ids);
    },
    start: () => {
      polling = pollAgain();
    },
    stop: async () => {
      stopped = true;
      clearTimeout(pollTimer);
      await Promise.all([polling, publisher.stop()]);
    },
  };
};
