import type { AuditLogRepository } from "../features/audit/auditLogRepository.ts";
import type { SessionsRepository } from "../features/console/sessionsRepository.ts";
import type { RootKeysRepository } from "../features/rootKeys/rootKeysRepository.ts";
import type { Clock } from "../platform/base/clock.ts";
import { timeOfId } from "../platform/base/ids.ts";
import type { StoreUsage } from "../platform/storage/port/store.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { Sample } from "../platform/telemetry/series.ts";
import { createRounds } from "../platform/util/rounds.ts";

const FIRST_LOOK_MS = 1_000;
const LOOK_EVERY_MS = 5_000;
/** Root keys are few, but all of them are read. */
const ROOT_KEYS_EVERY_MS = 300_000;
const DAY_MS = 86_400_000;
const SOON = { "1d": DAY_MS, "7d": 7 * DAY_MS, "30d": 30 * DAY_MS } as const;
/** Of each collection, and of sessions. */
const MOST_COUNTED = 1_000;

export interface StoreObserverOptions {
  /** The one that all nodes share. */
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "observe">;
  readonly usage: () => Promise<StoreUsage>;
  readonly auditLog: Pick<AuditLogRepository, "head" | "listPending" | "listPendingMarks">;
  readonly rootKeys: Pick<RootKeysRepository, "list">;
  /** Of the console, where there is one. */
  readonly sessions: Pick<SessionsRepository, "countKept"> | undefined;
  readonly onError: (error: unknown) => void;
}

export interface StoreObserver {
  readonly start: () => void;
  /** Looks once, now. Rejects with what the store fails with; what was seen before stays. */
  readonly look: () => Promise<void>;
  /** Waits for the read under way; a look ends with it. */
  readonly stop: () => Promise<void>;
}

const one = (value: number | undefined): readonly Sample[] => (value === undefined ? [] : [[[], value]]);
const named = (values: Readonly<Record<string, number>> = {}): readonly Sample[] =>
  Object.entries(values).map(([name, value]) => [[name], value]);

/**
 * Looks every five seconds at what only the store knows, for the metrics: a page shows what was seen last, so a store that hangs
 * holds up no scrape. Each look is a handful of reads that find little.
 */
export const createStoreObserver = (options: StoreObserverOptions): StoreObserver => {
  const { clock, metrics, usage, auditLog, rootKeys, sessions, onError } = options;
  let stopped = false;

  let used: StoreUsage = {};
  let outbox: { readonly documents: number; readonly oldest: number | undefined } | undefined;
  let head: { readonly sequence: number; readonly insertedAt: number | undefined } | undefined;
  let liveSessions: number | undefined;
  let expiries: { readonly at: number; readonly times: readonly number[] } | undefined;
  let lookedAt: number | undefined;

  metrics.observe("storeFiles", () => named(used.files));
  metrics.observe("diskFree", () => one(used.disk?.free));
  metrics.observe("diskSize", () => one(used.disk?.size));
  metrics.observe("connections", () => named(used.connections && { open: used.connections.open, in_use: used.connections.inUse }));
  metrics.observe("connectionLimit", () => one(used.connections?.most));
  metrics.observe("outboxDocuments", () => one(outbox?.documents));
  metrics.observe("outboxOldest", () =>
    one(outbox && (outbox.oldest === undefined ? 0 : Math.max(0, (clock.now() - outbox.oldest) / 1_000))),
  );
  metrics.observe("auditHead", () => one(head?.insertedAt && head.insertedAt / 1_000));
  metrics.observe("auditSequence", () => one(head?.sequence));
  metrics.observe("sessions", () => one(liveSessions));
  metrics.observe("rootKeysExpiring", () => {
    if (expiries === undefined) return [];
    const now = clock.now();
    const { times } = expiries;
    return Object.entries(SOON).map(([within, length]) => [[within], times.filter((at) => now < at && at <= now + length).length]);
  });
  metrics.observe("lookedAt", () => one(lookedAt && lookedAt / 1_000));

  const lookAtOutbox = async (): Promise<void> => {
    let documents = 0;
    let oldest: number | undefined;
    for (const collection of await auditLog.listPending()) {
      if (stopped) return;
      const marks = await auditLog.listPendingMarks(collection, MOST_COUNTED);
      documents += marks.length;
      const first = marks[0] === undefined ? undefined : timeOfId(marks[0]);
      if (first !== undefined && (oldest === undefined || first < oldest)) oldest = first;
    }
    outbox = { documents, oldest };
  };

  const lookAtRootKeys = async (): Promise<void> => {
    const at = clock.monotonic();
    if (expiries !== undefined && at - expiries.at < ROOT_KEYS_EVERY_MS) return;
    const all = await rootKeys.list();
    expiries = { at, times: all.flatMap(({ enabled, expires }) => (enabled && expires !== undefined ? [expires] : [])) };
  };

  const look = async (): Promise<void> => {
    used = await usage();
    await lookAtOutbox();
    // A stop waits for one read at most.
    if (stopped) return;
    const last = await auditLog.head();
    head = last === null ? undefined : { sequence: last.sequence, insertedAt: last.insertedAt };
    if (stopped) return;
    liveSessions = await sessions?.countKept(clock.now(), MOST_COUNTED);
    await lookAtRootKeys();
    lookedAt = clock.now();
  };

  const rounds = createRounds(LOOK_EVERY_MS, look, onError);

  return {
    start: () => rounds.start(FIRST_LOOK_MS),
    look,
    stop: () => {
      stopped = true;
      return rounds.stop();
    },
  };
};
