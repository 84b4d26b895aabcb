import { hostname } from "node:os";
import type { Analytics } from "../analytics/createAnalytics.ts";
import { indexAudit } from "../audit/auditIndexer.ts";
import { type AuditMover, createAuditMover } from "../audit/auditMover.ts";
import { createAuditRetention } from "../audit/auditRetention.ts";
import { AUDIT_FORMAT } from "../audit/chainHash.ts";
import { type ChangesFeed, createChangesFeed } from "../cache/changesFeed.ts";
import { createContact } from "../cache/contact.ts";
import { sizeOfAll } from "../cache/createCache.ts";
import { createInvalidations } from "../cache/invalidations.ts";
import type { Config } from "../config/loadConfig.ts";
import { type Clock, type SettableClock, systemClock } from "../domain/clock.ts";
import { createKeyRing } from "../domain/secrets/keyRing.ts";
import { createReservations } from "../idempotency/reservations.ts";
import { createProcedures } from "../procedures/registry.ts";
import { createLimiter, type Limiter } from "../ratelimit/limiter.ts";
import { createNamespaceCache } from "../ratelimit/namespaceCache.ts";
import { restartWhenSetBack } from "../ratelimit/restartable.ts";
import { createAuthenticator } from "../rootKeys/authenticator.ts";
import { createUsedPermissions } from "../rootKeys/usedPermissions.ts";
import { refusedRootKeyRest, unknownRootKeyRest } from "../rpc/http/limits.ts";
import type { Capacity } from "../rpc/pipeline/capacity.ts";
import { type ClientAddress, networkOf } from "../rpc/pipeline/clientAddress.ts";
import { createPipeline, type PipelineOptions } from "../rpc/pipeline/createPipeline.ts";
import type { IncomingCall, Pipeline } from "../rpc/pipeline/incomingCall.ts";
import { createIdempotency } from "../rpc/pipeline/keyedCalls.ts";
import { createManagementLimit } from "../rpc/pipeline/managementLimit.ts";
import type { Slices } from "../rpc/pipeline/slices.ts";
import { announceWrites } from "../storage/decorators/announceWrites.ts";
import type { Store } from "../storage/port/store.ts";
import { createApisRepository } from "../storage/repositories/apisRepository.ts";
import { createAuditIndexRepository } from "../storage/repositories/auditIndexRepository.ts";
import { createAuditLogRepository } from "../storage/repositories/auditLogRepository.ts";
import { createBackfillsRepository } from "../storage/repositories/backfillsRepository.ts";
import { createChangesRepository } from "../storage/repositories/changesRepository.ts";
import { createCounterListRepository } from "../storage/repositories/counterList.ts";
import { createCountersRepository } from "../storage/repositories/countersRepository.ts";
import { createIdentitiesRepository } from "../storage/repositories/identitiesRepository.ts";
import { createKeySearchRepository } from "../storage/repositories/keySearchRepository.ts";
import { createKeysRepository } from "../storage/repositories/keysRepository.ts";
import { createLeasesRepository } from "../storage/repositories/leasesRepository.ts";
import { createMigrationsRepository } from "../storage/repositories/migrationsRepository.ts";
import { createNamespacesRepository } from "../storage/repositories/namespacesRepository.ts";
import { createNodesRepository } from "../storage/repositories/nodesRepository.ts";
import { createOverridesRepository } from "../storage/repositories/overridesRepository.ts";
import { createPermissionsRepository } from "../storage/repositories/permissionsRepository.ts";
import { createReservationsRepository } from "../storage/repositories/reservationsRepository.ts";
import { createRolesRepository } from "../storage/repositories/rolesRepository.ts";
import { createRootKeysRepository } from "../storage/repositories/rootKeysRepository.ts";
import { createSweepsRepository } from "../storage/repositories/sweepsRepository.ts";
import { createBackfill } from "../sweep/backfill.ts";
import type { LeasedRounds } from "../sweep/leasedRounds.ts";
import { createSweeper } from "../sweep/sweeper.ts";
import type { BackgroundTask, Events } from "../telemetry/events.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { createNodeReporter, type NodeReporter } from "../telemetry/nodeReporter.ts";
import { createCreditSpender } from "../verification/creditSpender.ts";
import { createFailureBudget } from "../verification/failureBudget.ts";
import { createLastUsed, type LastUsed } from "../verification/lastUsed.ts";
import { createMigrateOnUse } from "../verification/migrateOnUse.ts";
import { createObjectCaches } from "../verification/objectCaches.ts";
import { createVerificationCache } from "../verification/verificationCache.ts";
import { version } from "../version.ts";
import { assembleConsole } from "./assembleConsole.ts";
import { openAnalytics } from "./openAnalytics.ts";

export interface AssembleOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly testClock: SettableClock | undefined;
  readonly store: Store;
  readonly metrics: Metrics;
  readonly events: Events;
  readonly capacity: Capacity;
  readonly clientAddress: ClientAddress;
  readonly slices: Slices;
  /** See `ServiceOverrides`. */
  readonly notesUsesEvery: number | undefined;
}

/** Everything behind the edges: the pipeline, and what runs beside it. */
export interface Core {
  readonly pipeline: Pipeline;
  /** Of the console, if there is one. */
  readonly consolePipeline: Pipeline | undefined;
  readonly limiter: Limiter;
  readonly analytics: Analytics | undefined;
  readonly feed: ChangesFeed;
  readonly auditMover: AuditMover;
  /** Work in the background that one node does at a time: sweep and backfill. */
  readonly rounds: readonly LeasedRounds[];
  readonly nodeReporter: NodeReporter;
  /** Of keys, of root keys and of their permissions. */
  readonly lastUsed: readonly Pick<LastUsed, "start" | "stop">[];
}

/** Wires repositories, engines and procedures. Nothing runs yet. */
export const assemble = async (options: AssembleOptions): Promise<Core> => {
  const { config, clock, testClock, store: plainStore, metrics, events, capacity, clientAddress, slices, notesUsesEvery } = options;
  const contact = createContact(config.verifyStoreDown);
  const invalidations = createInvalidations(clock, contact);
  // Processes compare the times of the feed and of leases, so those are never of a clock that somebody turns.
  const commonClock = testClock ? systemClock : clock;
  const failed = (task: BackgroundTask) => (error: unknown) => events.backgroundTaskFailed(task, error);
  const feed = createChangesFeed({
    clock: commonClock,
    invalidations,
    changes: createChangesRepository(plainStore),
    contact,
    durable: plainStore.isInProcess !== true,
    onError: failed("changes feed"),
  });
  const store = announceWrites(plainStore, feed, commonClock);
  const leases = createLeasesRepository(store);
  // Events, deleted objects and rows of nodes are nothing that nodes remember: what is written of these is not announced.
  const nodes = createNodesRepository(plainStore);
  const auditLog = createAuditLogRepository(plainStore);
  const auditIndex = createAuditIndexRepository(plainStore);
  const days = config.auditRetentionDays;
  const onBroken = (sequence: number): void =>
    events.backgroundTaskFailed("audit log", new Error(`entry ${sequence} was altered or is missing: it is kept, with all behind it`));
  const dropOldEntries =
    days === undefined ? undefined : createAuditRetention({ clock: commonClock, auditLog, auditIndex, days, onBroken });
  const auditMover = createAuditMover({
    clock: commonClock,
    auditLog,
    leases,
    knownFormat: () => nodes.knownAuditFormat(commonClock.now()),
    background: async (goesOn, append) => {
      await indexAudit({ auditLog, auditIndex }, goesOn);
      await dropOldEntries?.(goesOn, append);
    },
    onError: failed("audit log"),
  });
  const sweeper = createSweeper({
    clock,
    leaseClock: commonClock,
    leases,
    sweeps: createSweepsRepository(plainStore),
    onDue: metrics.sweepDue,
    onBatch: metrics.swept,
    onStart: events.sweepStarted,
    onEnd: events.sweepEnded,
    onError: failed("sweep"),
  });
  const isShared = plainStore.isInProcess !== true;
  const backfill = createBackfill({
    ...{ clock: commonClock, leases, backfills: createBackfillsRepository(plainStore), isShared },
    onStart: (progress) => events.backfill("started", progress),
    onProgress: (progress) => events.backfill("going on", progress),
    onEnd: (progress) => events.backfill("ended", progress),
    onError: failed("backfill"),
  });

  const apis = createApisRepository(store, auditMover.run);
  const keys = createKeysRepository(store, auditMover.run);
  const keySearch = createKeySearchRepository(store);
  const identities = createIdentitiesRepository(store, auditMover.run);
  const permissions = createPermissionsRepository(store, auditMover.run);
  const roles = createRolesRepository(store, auditMover.run);
  const rootKeys = createRootKeysRepository(store, auditMover.run);
  const namespaces = createNamespacesRepository(store);
  const overrides = createOverridesRepository(store, auditMover.run);

  const plainLimiter = createLimiter({
    clock,
    counters: createCountersRepository(store),
    storeDown: config.ratelimitStoreDown,
    onDecision: metrics.ratelimit,
  });
  const limiter = testClock ? restartWhenSetBack(plainLimiter, testClock) : plainLimiter;
  const analytics = await openAnalytics({ config, clock, commonClock, limiter, metrics, events, expire: testClock === undefined });
  const lastUsed = createLastUsed({ clock, write: keys.markUsed, onError: failed("last used") });
  const rootKeysLastUsed = createLastUsed({ clock, write: rootKeys.markUsed, onError: failed("last used") });
  const usedPermissions = createUsedPermissions({
    write: rootKeys.noteUses,
    flushEvery: notesUsesEvery,
    onError: failed("used permissions"),
  });
  const migrations = createMigrationsRepository(store);
  /** Bytes of a cache that has so many hundredths of all. */
  const share = (hundredths: number): number => Math.floor(config.cacheMegabytes * 1024 * 1024 * (hundredths / 100));
  const objects = createObjectCaches({ clock, invalidations, contact, apis, identities, roles, permissions, maxBytes: share(7) });
  const verifications = createVerificationCache({
    clock,
    invalidations,
    contact,
    keys,
    objects,
    maxBytes: share(60),
    maxGrantBytes: share(2),
    onAccess: metrics.cache("verification"),
  });
  const namespaceCache = createNamespaceCache({
    clock,
    invalidations,
    contact,
    namespaces,
    overrides,
    maxBytes: share(6),
    onAccess: metrics.cache("namespace"),
  });

  const authenticator = createAuthenticator<IncomingCall>({
    clock,
    invalidations,
    contact,
    rootKeys,
    maxBytes: share(4),
    roomForRead: (call) => capacity.rootKeyReads.take([networkOf(clientAddress(call))], 1),
    unknownRest: unknownRootKeyRest,
    refusalRest: refusedRootKeyRest,
    onAccess: metrics.cache("root_key"),
    onUse: rootKeysLastUsed.mark,
  });
  const cached = sizeOfAll([verifications, namespaceCache, objects, authenticator]);
  const analyticsKind = analytics === undefined ? "none" : config.analytics?.clickhouseUrl === undefined ? "embedded" : "clickhouse";
  const nodeReporter = createNodeReporter({
    clock: commonClock,
    nodes,
    node: { _id: feed.node, version, host: hostname(), auditFormat: AUDIT_FORMAT, storeKind: plainStore.engine },
    figures: () => {
      const { verifications: verified, limits, eventsDropped, storeUp, analyticsUp } = metrics.totals();
      return {
        changesLagMs: Math.round(feed.lag()),
        cacheEntries: cached.size(),
        cacheBytes: Math.round(cached.bytes()),
        inFlight: capacity.calls.taken(),
        analytics: { kind: analyticsKind, up: analytics !== undefined && analyticsUp, dropped: eventsDropped },
        storeUp,
        totals: { verifications: verified, limits },
      };
    },
    ping: plainStore.ping,
    onError: failed("nodes"),
  });

  const steps: PipelineOptions = {
    clock,
    authenticator,
    usedPermissions,
    procedures: createProcedures({
      testClock,
      clock,
      analytics,
      auditLog,
      auditIndex,
      apis,
      keys,
      keySearch,
      identities,
      permissions,
      roles,
      rootKeys,
      namespaces,
      overrides,
      namespaceCache,
      verifications,
      limiter,
      counterList: createCounterListRepository(store),
      credits: createCreditSpender(keys),
      lastUsed,
      failures: createFailureBudget(clock),
      migrations,
      nodes,
      nodesClock: commonClock,
      migrate: createMigrateOnUse({ clock, invalidations, contact, keys, migrations, objects }),
      keyRing: config.encryptionKeys && createKeyRing(config.encryptionKeys),
      onOutcome: metrics.verification,
    }),
    clientAddress,
    managementLimit: config.managementRateLimit === undefined ? undefined : createManagementLimit(limiter, config.managementRateLimit),
    idempotency: createIdempotency(
      createReservations({
        clock,
        leaseClock: commonClock,
        reservations: createReservationsRepository(store),
        announcer: feed,
      }),
      slices,
    ),
    capacity,
    recorder: metrics.calls,
    onFailure: events.callFailed,
    onEnd: events.tellsCalls ? events.callEnded : undefined,
  };
  return {
    pipeline: createPipeline(steps),
    consolePipeline:
      config.console &&
      assembleConsole({ bounds: config.console, steps, store, rootKeys, leaseClock: commonClock, capacity, onUse: rootKeysLastUsed.mark }),
    limiter,
    analytics,
    feed,
    auditMover,
    rounds: [sweeper, backfill],
    nodeReporter,
    lastUsed: [lastUsed, rootKeysLastUsed, usedPermissions],
  };
};
