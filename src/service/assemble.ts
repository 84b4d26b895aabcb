import { createApisRepository } from "../features/apis/apisRepository.ts";
import { createAppendEvents } from "../features/audit/appendEvents.ts";
import { createAuditIndexRepository } from "../features/audit/auditIndexRepository.ts";
import { createAuditLogRepository } from "../features/audit/auditLogRepository.ts";
import { createIdempotency } from "../features/calls/createIdempotency.ts";
import { createPipeline } from "../features/calls/createPipeline.ts";
import { createManagementLimit } from "../features/calls/managementLimit.ts";
import type { OidcSettings } from "../features/console/oidc/oidcSettings.ts";
import { createReservations } from "../features/idempotency/reservations.ts";
import { createReservationsRepository } from "../features/idempotency/reservationsRepository.ts";
import { createErasuresRepository } from "../features/identities/erasuresRepository.ts";
import { createIdentitiesRepository } from "../features/identities/identitiesRepository.ts";
import { createCreditSpender } from "../features/keys/creditSpender.ts";
import { createKeySearchRepository } from "../features/keys/keySearchRepository.ts";
import { createKeysRepository } from "../features/keys/keysRepository.ts";
import { createMigrationsRepository } from "../features/migrations/migrationsRepository.ts";
import { createNodesRepository } from "../features/nodes/nodesRepository.ts";
import { reportNode } from "../features/nodes/reportNode.ts";
import { createPermissionsRepository } from "../features/permissions/permissionsRepository.ts";
import { createRolesRepository } from "../features/permissions/rolesRepository.ts";
import { countByServerTime } from "../features/ratelimit/countByServerTime.ts";
import { createCounterListRepository } from "../features/ratelimit/counterListRepository.ts";
import { createLimiter } from "../features/ratelimit/limiter.ts";
import { createNamespaceCache } from "../features/ratelimit/namespaceCache.ts";
import { createNamespacesRepository } from "../features/ratelimit/namespacesRepository.ts";
import { createOverridesRepository } from "../features/ratelimit/overridesRepository.ts";
import { restartWhenSetBack } from "../features/ratelimit/restartWhenSetBack.ts";
import { type Authenticator, createAuthenticator } from "../features/rootKeys/authenticator.ts";
import { createRootKeysRepository } from "../features/rootKeys/rootKeysRepository.ts";
import { createUsedPermissions } from "../features/rootKeys/usedPermissions.ts";
import { createFailureBudget } from "../features/verification/failureBudget.ts";
import { createLastUsed } from "../features/verification/lastUsed.ts";
import { createMigrateOnUse } from "../features/verification/migrateOnUse.ts";
import { createObjectCaches } from "../features/verification/objectCaches.ts";
import { createVerificationCache } from "../features/verification/verificationCache.ts";
import { type Clock, type SettableClock, systemClock } from "../platform/base/clock.ts";
import { createAnnouncementFeed } from "../platform/cache/announcementFeed.ts";
import { createContact } from "../platform/cache/contact.ts";
import { sizeOfAll } from "../platform/cache/createCache.ts";
import { createInvalidations } from "../platform/cache/invalidations.ts";
import type { Config } from "../platform/config/loadConfig.ts";
import type { Capacity } from "../platform/http/capacity.ts";
import { type ClientAddress, networkOf } from "../platform/http/clientAddress.ts";
import { refusedRootKeyRest, unknownRootKeyRest } from "../platform/http/limits.ts";
import type { IncomingCall, Pipeline } from "../platform/rpc/incomingCall.ts";
import { createKeyRing } from "../platform/secrets/keyRing.ts";
import { announceWrites } from "../platform/storage/decorators/announceWrites.ts";
import type { Store, StoreUsage } from "../platform/storage/port/store.ts";
import { createChangesRepository } from "../platform/storage/repositories/changesRepository.ts";
import { createLeasesRepository } from "../platform/storage/repositories/leasesRepository.ts";
import type { BackgroundTask, Events } from "../platform/telemetry/events.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { TraceOperation } from "../platform/telemetry/tracing/tracer.ts";
import { watchLeases } from "../platform/telemetry/watchLeases.ts";
import { assembleConsole, type ConsoleParts } from "./assembleConsole.ts";
import type { BackgroundPart } from "./backgroundWork.ts";
import { createUpkeep } from "./createUpkeep.ts";
import { observeService } from "./observeService.ts";
import { openAnalytics } from "./openAnalytics.ts";
import { createProcedures } from "./procedures.ts";
import type { ServiceOverrides } from "./serviceOverrides.ts";

export interface AssembleOptions extends Pick<ServiceOverrides, "flushUsedPermissionsEvery" | "worker"> {
  readonly config: Config;
  readonly clock: Clock;
  readonly testClock: SettableClock | undefined;
  readonly store: Store;
  /** That of the server which counts rate limits in place of the store. */
  readonly counterClock: Clock | undefined;
  /** What the store takes of its machine. */
  readonly usage: () => Promise<StoreUsage>;
  readonly metrics: Metrics;
  readonly events: Events;
  readonly capacity: Capacity;
  readonly clientAddress: ClientAddress;
  readonly oidc: OidcSettings | undefined;
  /** Of what is asked of analytics; undefined where nothing is traced. */
  readonly trace: TraceOperation | undefined;
}

/** Everything behind the edges: the pipeline, and what runs beside it. */
export interface Assembly {
  readonly pipeline: Pipeline;
  readonly authenticator: Authenticator<IncomingCall>;
  /** If there is a console. */
  readonly console: ConsoleParts | undefined;
  /** In the order in which they start: each stops before what it still needs to finish. */
  readonly background: readonly BackgroundPart[];
  /** Answers the calls that only wait for events, which need not be waited for. */
  readonly endTails: () => void;
}

/** Wires repositories, engines and procedures. Nothing runs yet. */
export const assemble = (options: AssembleOptions): Assembly => {
  const {
    config,
    clock,
    testClock,
    store: plainStore,
    usage,
    metrics,
    events,
    capacity,
    clientAddress,
    flushUsedPermissionsEvery,
    trace,
  } = options;
  const contact = createContact(config.verifyStoreDown);
  const invalidations = createInvalidations(clock, contact);
  // Processes compare the times of the feed and of leases, so those are never of a clock that somebody turns.
  const commonClock = testClock ? systemClock : clock;
  const failed = (task: BackgroundTask) => (error: unknown) => events.backgroundTaskFailed(task, error);
  const feed = createAnnouncementFeed({
    clock: commonClock,
    invalidations,
    changes: createChangesRepository(plainStore),
    contact,
    durable: plainStore.isInProcess !== true,
    siblings: options.worker?.siblings,
    onError: failed("changes feed"),
  });
  const store = announceWrites(plainStore, feed, commonClock);
  // Events, deleted objects and rows of nodes are nothing that nodes remember: what is written of these is not announced.
  const nodes = createNodesRepository(plainStore);
  const auditLog = createAuditLogRepository(plainStore);
  const auditIndex = createAuditIndexRepository(plainStore);
  const { leases, held } = watchLeases(createLeasesRepository(store), commonClock);
  const { auditMover, sweeper, backfill } = createUpkeep({
    config,
    clock,
    commonClock,
    store: plainStore,
    leases,
    nodes,
    auditLog,
    auditIndex,
    metrics,
    events,
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
    clock: options.counterClock ?? clock,
    counters: store.counters,
    storeDown: config.ratelimitStoreDown,
    onDecision: metrics.ratelimit,
  });
  const timedLimiter = options.counterClock ? countByServerTime(plainLimiter, clock) : plainLimiter;
  const limiter = testClock ? restartWhenSetBack(plainLimiter, testClock) : timedLimiter;
  const expire = testClock === undefined;
  const { analytics, analyticsAbsence } = openAnalytics({ config, clock, commonClock, limiter, metrics, events, trace, expire });
  const lastUsed = createLastUsed({ clock, write: keys.markUsed, onError: failed("last used") });
  const rootKeysLastUsed = createLastUsed({ clock, write: rootKeys.markUsed, onError: failed("root keys last used") });
  const usedPermissions = createUsedPermissions({
    write: rootKeys.noteUses,
    flushEvery: flushUsedPermissionsEvery,
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
  const caches = { verification: verifications, namespace: namespaceCache, object: objects, root_key: authenticator };
  const cached = sizeOfAll(Object.values(caches));
  const sources = { store: plainStore, usage, auditLog, rootKeys, caches, feed, held };
  const storeObserver = observeService({ config, clock: commonClock, metrics, events, ...sources });
  const nodeReporter = reportNode({
    ...{ clock: commonClock, store: plainStore, nodes, feed, cached, capacity, metrics },
    analytics: analytics && config.analytics,
    onError: failed("nodes"),
  });

  const consoleParts =
    config.console &&
    assembleConsole({
      bounds: config.console,
      oidc: options.oidc,
      store,
      rootKeys,
      leaseClock: commonClock,
      capacity,
      onUse: rootKeysLastUsed.mark,
      onProviderFailure: events.identityProviderFailed,
    });
  const procedures = createProcedures({
    testClock,
    clock,
    analytics,
    analyticsAbsence,
    auditLog,
    auditIndex,
    apis,
    keys,
    keySearch,
    identities,
    erasures: createErasuresRepository(store),
    appendEvents: createAppendEvents({ clock: commonClock, auditLog, knownFormat: () => nodes.knownAuditFormat(commonClock.now()) }),
    moveEvents: auditMover.run,
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
  });
  const pipeline = createPipeline({
    clock,
    usedPermissions,
    procedures: consoleParts ? new Map([...procedures, ...consoleParts.procedures]) : procedures,
    clientAddress,
    managementLimit: config.managementRateLimit === undefined ? undefined : createManagementLimit(limiter, config.managementRateLimit),
    idempotency: createIdempotency(
      createReservations({
        clock,
        leaseClock: commonClock,
        reservations: createReservationsRepository(store),
        announcer: feed,
      }),
    ),
    capacity,
    recorder: metrics.calls,
    onDegraded: metrics.degraded,
    onFailure: events.callFailed,
    onEnd: events.tellsCalls ? events.callEnded : undefined,
  });
  return {
    pipeline,
    authenticator,
    console: consoleParts,
    background: [
      // Whatever is written until the end is announced, and leaves events to be moved.
      { name: "changes feed", ...feed },
      { name: "audit log", ...auditMover },
      { name: "backfill", ...backfill },
      { name: "sweep", ...sweeper },
      { name: "used permissions", ...usedPermissions },
      { name: "root keys last used", ...rootKeysLastUsed },
      { name: "last used", ...lastUsed },
      { name: "rate limits", ...limiter },
      // Stops before the limiter, which gives back what queries hold of their quota.
      ...(analytics === undefined ? [] : [{ name: "analytics", ...analytics } as const]),
      { name: "nodes", ...nodeReporter },
      { name: "store figures", ...storeObserver },
    ],
    endTails: () => analytics?.endTails(),
  };
};
