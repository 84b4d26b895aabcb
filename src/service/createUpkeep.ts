import { type AuditMover, createAuditMover } from "../audit/auditMover.ts";
import { createAuditRetention } from "../audit/auditRetention.ts";
import { indexAudit } from "../audit/indexAudit.ts";
import type { Config } from "../config/loadConfig.ts";
import type { Clock } from "../domain/clock.ts";
import type { Store } from "../storage/port/store.ts";
import type { AuditIndexRepository } from "../storage/repositories/auditIndexRepository.ts";
import type { AuditLogRepository } from "../storage/repositories/auditLogRepository.ts";
import { createBackfillsRepository } from "../storage/repositories/backfillsRepository.ts";
import type { LeasesRepository } from "../storage/repositories/leasesRepository.ts";
import type { NodesRepository } from "../storage/repositories/nodesRepository.ts";
import { createSweepsRepository } from "../storage/repositories/sweepsRepository.ts";
import { createBackfill } from "../sweep/backfill.ts";
import type { LeasedRounds } from "../sweep/leasedRounds.ts";
import { createSweeper } from "../sweep/sweeper.ts";
import type { Events } from "../telemetry/events.ts";
import type { Metrics } from "../telemetry/metrics.ts";

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
