import type { AuditIndexRepository } from "../features/audit/auditIndexRepository.ts";
import type { AuditLogRepository } from "../features/audit/auditLogRepository.ts";
import { type AuditMover, createAuditMover } from "../features/audit/auditMover.ts";
import { createAuditRetention } from "../features/audit/auditRetention.ts";
import { indexAudit } from "../features/audit/indexAudit.ts";
import type { NodesRepository } from "../features/nodes/nodesRepository.ts";
import { createBackfill } from "../operations/sweep/backfill.ts";
import { createBackfillsRepository } from "../operations/sweep/backfillsRepository.ts";
import type { LeasedRounds } from "../operations/sweep/leasedRounds.ts";
import { createSweeper } from "../operations/sweep/sweeper.ts";
import { createSweepsRepository } from "../operations/sweep/sweepsRepository.ts";
import type { Clock } from "../platform/base/clock.ts";
import type { Config } from "../platform/config/loadConfig.ts";
import type { Store } from "../platform/storage/port/store.ts";
import type { LeasesRepository } from "../platform/storage/repositories/leasesRepository.ts";
import type { Events } from "../platform/telemetry/events.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";

export interface UpkeepOptions {
  readonly config: Pick<Config, "auditRetentionDays">;
  /** The one that deletions are dated by. */
  readonly clock: Clock;
  /** One that nobody turns. */
  readonly commonClock: Clock;
  /** What is written through it is not announced: nodes remember nothing of it. */
  readonly store: Store;
  readonly leases: LeasesRepository;
  readonly nodes: NodesRepository;
  readonly auditLog: AuditLogRepository;
  readonly auditIndex: AuditIndexRepository;
  readonly metrics: Metrics;
  readonly events: Events;
}

/** What one node at a time does for all of them. */
export interface Upkeep {
  readonly auditMover: AuditMover;
  readonly sweeper: LeasedRounds;
  readonly backfill: LeasedRounds;
}

/** Wires what keeps the store in order behind the calls. Nothing runs yet. */
export const createUpkeep = (options: UpkeepOptions): Upkeep => {
  const { config, clock, commonClock, store, leases, nodes, auditLog, auditIndex, metrics, events } = options;
  const days = config.auditRetentionDays;
  const onBroken = (sequence: number): void =>
    events.backgroundTaskFailed("audit log", new Error(`entry ${sequence} was altered or is missing: it is kept, with all behind it`));
  const dropOldEntries =
    days === undefined ? undefined : createAuditRetention({ clock: commonClock, auditLog, auditIndex, days, onBroken });
  return {
    auditMover: createAuditMover({
      clock: commonClock,
      auditLog,
      leases,
      knownFormat: () => nodes.knownAuditFormat(commonClock.now()),
      background: async (goesOn, append) => {
        await indexAudit({ auditLog, auditIndex }, goesOn);
        await dropOldEntries?.(goesOn, append);
      },
      onError: (error) => events.backgroundTaskFailed("audit log", error),
    }),
    sweeper: createSweeper({
      clock,
      leaseClock: commonClock,
      leases,
      sweeps: createSweepsRepository(store),
      onDue: metrics.sweepDue,
      onBatch: metrics.swept,
      onStart: events.sweepStarted,
      onEnd: events.sweepEnded,
      onError: (error) => events.backgroundTaskFailed("sweep", error),
    }),
    backfill: createBackfill({
      clock: commonClock,
      leases,
      backfills: createBackfillsRepository(store),
      isShared: store.isInProcess !== true,
      onStart: (progress) => events.backfill("started", progress),
      onProgress: (progress) => events.backfill("going on", progress),
      onEnd: (progress) => events.backfill("ended", progress),
      onError: (error) => events.backgroundTaskFailed("backfill", error),
    }),
  };
};
