import { createAppendEvents } from "../audit/appendEvents.ts";
import { createAnnouncementFeed } from "../cache/announcementFeed.ts";
import { createContact } from "../cache/contact.ts";
import { sizeOfAll } from "../cache/createCache.ts";
import { createInvalidations } from "../cache/invalidations.ts";
import type { Config } from "../config/loadConfig.ts";
import type { OidcSettings } from "../console/oidc/oidcSettings.ts";
import { type Clock, type SettableClock, systemClock } from "../domain/clock.ts";
import { createKeyRing } from "../domain/secrets/keyRing.ts";
import { createReservations } from "../idempotency/reservations.ts";
import { createProcedures } from "../procedures/registry.ts";
import { countByServerTime } from "../ratelimit/countByServerTime.ts";
import { createLimiter } from "../ratelimit/limiter.ts";
import { createNamespaceCache } from "../ratelimit/namespaceCache.ts";
import { restartWhenSetBack } from "../ratelimit/restartWhenSetBack.ts";
import { type Authenticator, createAuthenticator } from "../rootKeys/authenticator.ts";
import { createUsedPermissions } from "../rootKeys/usedPermissions.ts";
import { refusedRootKeyRest, unknownRootKeyRest } from "../rpc/http/limits.ts";
import type { Capacity } from "../rpc/pipeline/capacity.ts";
import { type ClientAddress, networkOf } from "../rpc/pipeline/clientAddress.ts";
import { createIdempotency } from "../rpc/pipeline/createIdempotency.ts";
import { createPipeline } from "../rpc/pipeline/createPipeline.ts";
import type { IncomingCall, Pipeline } from "../rpc/pipeline/incomingCall.ts";
import { createManagementLimit } from "../rpc/pipeline/managementLimit.ts";
import { announceWrites } from "../storage/decorators/announceWrites.ts";
import type { Store, StoreUsage } from "../storage/port/store.ts";
import { createApisRepository } from "../storage/repositories/apisRepository.ts";
import { createAuditIndexRepository } from "../storage/repositories/auditIndexRepository.ts";
import { createAuditLogRepository } from "../storage/repositories/auditLogRepository.ts";
import { createChangesRepository } from "../storage/repositories/changesRepository.ts";
import { createCounterListRepository } from "../storage/repositories/counterListRepository.ts";
import { createErasuresRepository } from "../storage/repositories/erasuresRepository.ts";
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
import type { BackgroundTask, Events } from "../telemetry/events.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { TraceOperation } from "../telemetry/tracing/tracer.ts";
import { watchLeases } from "../telemetry/watchLeases.ts";
import { createCreditSpender } from "../verification/creditSpender.ts";
import { createFailureBudget } from "../verification/failureBudget.ts";
import { createLastUsed } from "../verification/lastUsed.ts";
import { createMigrateOnUse } from "../verification/migrateOnUse.ts";
import { createObjectCaches } from "../verification/objectCaches.ts";
import { createVerificationCache } from "../verification/verificationCache.ts";
import { assembleConsole, type ConsoleParts } from "./assembleConsole.ts";
import type { BackgroundPart } from "./backgroundWork.ts";
import { createUpkeep } from "./createUpkeep.ts";
import { observeService } from "./observeService.ts";
import { openAnalytics } from "./openAnalytics.ts";
import { reportNode } from "./reportNode.ts";
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
