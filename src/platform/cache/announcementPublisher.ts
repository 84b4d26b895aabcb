import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../base/clock.ts";
import { createId } from "../base/ids.ts";
import { StoreUnavailableError } from "../storage/port/errors.ts";
import { chunks } from "../util/chunks.ts";

const PUBLISH_AFTER_MS = 25;
/** What has waited for one announcement waits so long for company before the next: every node reads every one of them. */
const LINGER_MS = 5;
const RETRY_AFTER_MS = 500;
const IDS_PER_DOCUMENT = 5_000;
/** An announcement whose id is older than this when the store has it may be behind what others still look at. */
const STORED_WITHIN_MS = 2_000;
/** A write waits for its announcement: after so long no further attempt is begun. */
const ATTEMPTS_BEGIN_WITHIN_MS = 3_000;
/** What the store has not taken by then, a stop leaves: it was announced before, or is nothing but doubt. */
const STOP_WITHIN_MS = 2_000;

/** Publishes the announcements of this node by group commit: what comes while an insert runs shares the next one. */
export interface AnnouncementPublisher {
  /** Resolves when the store has it; rejects when that is not known. */
  readonly publish: (ids: readonly string[]) => Promise<void>;
  /** Tries until the store has it. */
  readonly publishSoon: (ids: readonly string[]) => void;
  /** Waits for all that is on its way, and tries once more what is left; for two seconds in all. */
  readonly stop: () => Promise<void>;
}

export interface AnnouncementPublisherOptions {
  readonly clock: Clock;
  /** Stores one announcement under an id that was made just now. */
  readonly append: (id: string, ids: readonly string[]) => Promise<void>;
  readonly onError?: (error: unknown) => void;
}

export const createAnnouncementPublisher = ({ clock, append, onError }: AnnouncementPublisherOptions): AnnouncementPublisher => {
  let ids: string[] = [];
  let waiting: PromiseWithResolvers<void>[] = [];
  /** Those for which nobody waits. */
  let soon = new Set<string>();
  let isDue = false;
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let stopped = false;

  const store = async (some: readonly string[]): Promise<void> => {
    const first = clock.monotonic();
    for (let began = first; began - first <= ATTEMPTS_BEGIN_WITHIN_MS; began = clock.monotonic()) {
      await append(createId("ch", clock.now()), some);
      if (clock.monotonic() - began <= STORED_WITHIN_MS) return;
    }
    throw new StoreUnavailableError("the store takes announcements too slowly");
  };

  const sendBatch = async (): Promise<void> => {
    const [members, later] = [waiting, soon];
    const all = new Set([...ids, ...later]);
    [ids, waiting, soon, isDue] = [[], [], new Set(), false];
    try {
      for (const some of chunks([...all], IDS_PER_DOCUMENT)) await store(some);
      for (const { resolve } of members) resolve();
    } catch (error) {
      onError?.(error);
      for (const { reject } of members) reject(error);
      for (const id of later) soon.add(id);
      if (later.size > 0) sendAfter(RETRY_AFTER_MS);
    }
  };

  const flush = async (): Promise<void> => {
    while (waiting.length > 0 || isDue) {
      await sendBatch();
      if (waiting.length > 0) await sleep(LINGER_MS);
    }
    // At once, not when whoever waits for this goes on: what comes in between would wait for nothing.
    sending = undefined;
  };
  const send = (): void => {
    sending ??= flush();
  };

  const sendAfter = (delay: number): void => {
    if (timer || stopped) return;
    timer = setTimeout(() => {
      timer = undefined;
      isDue = true;
      send();
    }, delay);
    timer.unref();
  };

  const finish = async (): Promise<void> => {
    await sending;
    if (soon.size === 0) return;
    isDue = true;
    send();
    await sending;
  };

  return {
    publish: (more) => {
      const member = Promise.withResolvers<void>();
      ids.push(...more);
      waiting.push(member);
      send();
      return member.promise;
    },
    publishSoon: (more) => {
      for (const id of more) soon.add(id);
      sendAfter(PUBLISH_AFTER_MS);
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      const deadline = new AbortController();
      await Promise.race([finish(), sleep(STOP_WITHIN_MS, undefined, { signal: deadline.signal }).catch(() => undefined)]);
      deadline.abort();
    },
  };
};
