import { type ApisRepository, createApisRepository } from "../../../../src/features/apis/apisRepository.ts";
import { type AuditIndexRepository, createAuditIndexRepository } from "../../../../src/features/audit/auditIndexRepository.ts";
import { type AuditLogRepository, createAuditLogRepository } from "../../../../src/features/audit/auditLogRepository.ts";
import { createFailedSignInsRepository, type FailedSignInsRepository } from "../../../../src/features/console/failedSignInsRepository.ts";
import { createSessionsRepository, type SessionsRepository } from "../../../../src/features/console/sessionsRepository.ts";
import { createReservationsRepository, type ReservationsRepository } from "../../../../src/features/idempotency/reservationsRepository.ts";
import { createErasuresRepository, type Erasure, type ErasuresRepository } from "../../../../src/features/identities/erasuresRepository.ts";
import { createIdentitiesRepository, type IdentitiesRepository } from "../../../../src/features/identities/identitiesRepository.ts";
import { createKeySearchRepository, type KeySearchRepository } from "../../../../src/features/keys/keySearchRepository.ts";
import { createKeysRepository, type KeysRepository } from "../../../../src/features/keys/keysRepository.ts";
import { createMigrationsRepository, type MigrationsRepository } from "../../../../src/features/migrations/migrationsRepository.ts";
import { createNodesRepository, type NodeRow, type NodesRepository } from "../../../../src/features/nodes/nodesRepository.ts";
import { createPermissionsRepository, type PermissionsRepository } from "../../../../src/features/permissions/permissionsRepository.ts";
import { createRolesRepository, type RolesRepository } from "../../../../src/features/permissions/rolesRepository.ts";
import { type CounterListRepository, createCounterListRepository } from "../../../../src/features/ratelimit/counterListRepository.ts";
import { ALL_LENGTHS } from "../../../../src/features/ratelimit/counterWalk.ts";
import { createNamespacesRepository, type NamespacesRepository } from "../../../../src/features/ratelimit/namespacesRepository.ts";
import { createOverridesRepository, type OverridesRepository } from "../../../../src/features/ratelimit/overridesRepository.ts";
import { createRootKeysRepository, type RootKeysRepository } from "../../../../src/features/rootKeys/rootKeysRepository.ts";
import { type BackfillsRepository, createBackfillsRepository } from "../../../../src/operations/sweep/backfillsRepository.ts";
import { createSweepsRepository, type SweepsRepository, type Walk } from "../../../../src/operations/sweep/sweepsRepository.ts";
import { aroundCounters } from "../../../../src/platform/storage/decorators/aroundCounters.ts";
import { auditedCollections } from "../../../../src/platform/storage/port/auditedCollections.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../../../src/platform/storage/port/baseDocument.ts";
import type { Counters } from "../../../../src/platform/storage/port/counters.ts";
import type { Store } from "../../../../src/platform/storage/port/store.ts";
import { sweptCollections } from "../../../../src/platform/storage/port/sweptCollections.ts";
import { type ChangesRepository, createChangesRepository } from "../../../../src/platform/storage/repositories/changesRepository.ts";
import { createLeasesRepository, type LeasesRepository } from "../../../../src/platform/storage/repositories/leasesRepository.ts";
import { chargeWindow } from "../../../support/chargeWindow.ts";
import { sampleKey } from "../../contract/samples.ts";
import { blockOfEntries, idOf, MANY } from "./largeStore.ts";

/** Calls every method of a repository with the largest request that a caller may make. */
type CallsOf<R> = {
  readonly [K in keyof R as NonNullable<R[K]> extends (...args: never[]) => unknown ? K : never]-?: (repository: R) => unknown;
};

const on = <R>(name: string, create: (store: Store) => R): ((store: Store) => R) =>
  Object.defineProperty((store: Store) => create(store), "name", { value: name });
/** The embedded store's counters are in order, so nothing scans them. */
type OrderedCounters = Omit<Counters, "scan">;
/** The counters of the port, without the embedded store's additions. */
const createCounters = (store: Store): OrderedCounters => aroundCounters(store.counters, (_, run) => run());

interface Repositories {
  readonly apis: ApisRepository;
  readonly auditIndex: AuditIndexRepository;
  readonly auditLog: AuditLogRepository;
  readonly backfills: BackfillsRepository;
  readonly changes: ChangesRepository;
  readonly counters: OrderedCounters;
  readonly counterList: CounterListRepository;
  readonly erasures: ErasuresRepository;
  readonly failedSignIns: FailedSignInsRepository;
  readonly identities: IdentitiesRepository;
  readonly keys: KeysRepository;
  readonly keySearch: KeySearchRepository;
  readonly leases: LeasesRepository;
  readonly migrations: MigrationsRepository;
  readonly namespaces: NamespacesRepository;
  readonly nodes: NodesRepository;
  readonly overrides: OverridesRepository;
  readonly permissions: PermissionsRepository;
  readonly reservations: ReservationsRepository;
  readonly roles: RolesRepository;
  readonly rootKeys: RootKeysRepository;
  readonly sessions: SessionsRepository;
  readonly sweeps: SweepsRepository;
}

/** The repositories by name, with the functions that make them. */
export const repositories: { readonly [K in keyof Repositories]: (store: Store) => Repositories[K] } = {
  apis: on("createApisRepository", createApisRepository),
  auditIndex: on("createAuditIndexRepository", createAuditIndexRepository),
  auditLog: on("createAuditLogRepository", createAuditLogRepository),
  backfills: on("createBackfillsRepository", createBackfillsRepository),
  changes: on("createChangesRepository", createChangesRepository),
  counters: on("counters", createCounters),
  counterList: on("createCounterListRepository", createCounterListRepository),
  erasures: on("createErasuresRepository", createErasuresRepository),
  failedSignIns: on("createFailedSignInsRepository", createFailedSignInsRepository),
  identities: on("createIdentitiesRepository", createIdentitiesRepository),
  keys: on("createKeysRepository", createKeysRepository),
  keySearch: on("createKeySearchRepository", createKeySearchRepository),
  leases: on("createLeasesRepository", createLeasesRepository),
  migrations: on("createMigrationsRepository", createMigrationsRepository),
  namespaces: on("createNamespacesRepository", createNamespacesRepository),
  nodes: on("createNodesRepository", createNodesRepository),
  overrides: on("createOverridesRepository", createOverridesRepository),
  permissions: on("createPermissionsRepository", createPermissionsRepository),
  reservations: on("createReservationsRepository", createReservationsRepository),
  roles: on("createRolesRepository", createRolesRepository),
  rootKeys: on("createRootKeysRepository", createRootKeysRepository),
  sessions: on("createSessionsRepository", createSessionsRepository),
  sweeps: on("createSweepsRepository", createSweepsRepository),
};

const ids = (prefix: string, count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => idOf(prefix, from + i));
const living = (prefix: string, count: number): string[] => ids(prefix, count, MANY.others - count);
/** The first page, all pages by their last, and a search that finds nothing. */
const page = { limit: 100, cursor: "" } as const;
const search = { ...page, search: "nowhere" } as const;
const until = (prefix: string) => ({ limit: 100, cursor: idOf(prefix, MANY.others - 50) });
/** All, and those of a thousand, deleted ones among them; the first page, the last, and a search that finds nothing. */
const newestFirst = (prefix: string) =>
  [undefined, new Set([...ids(prefix, 500), ...living(prefix, 500)])].flatMap((some) =>
    [page, search, { limit: 100, cursor: idOf(prefix, MANY.others * 0.75 + 50) }].map((request) => [some, request] as const),
  );
const walk: Walk = { permissionIds: ids("perm", 1_000), roleIds: ids("role", 1_000), stage: "roles", after: "" };
const sampleNode: NodeRow = {
  ...{ _id: idOf("node", 1), version: "1", startedAt: 1, lastSeenAt: 2, host: "host", inFlight: 0, eventLoopLagMs: 0 },
  ...{ changesLagMs: 0, cacheEntries: 0, cacheBytes: 0, verificationsPerSecond: 0, limitsPerSecond: 0 },
  ...{ store: { kind: "embedded", up: true, latencyMs: 0 }, analytics: { kind: "none", up: false, dropped: 0 } },
};
const sampleErasure: Erasure = {
  ...{ id: "id_big", externalId: "nowhere", identityIds: ["id_big"], through: 0, keys: 0, entries: 0, events: 0 },
};
const nothing = () => undefined;

export const calls: { readonly [K in keyof Repositories]: CallsOf<Repositories[K]> } = {
  apis: {
    find: (apis) => apis.find(idOf("api", 1)),
    findLivingIds: (apis) => Promise.all([undefined, ids("api", 1_000)].map((some) => apis.findLivingIds(some))),
    insert: (apis) => apis.insert({ id: "api_new", name: "new" }, 1, []),
    listPage: (apis) => Promise.all(newestFirst("api").map(([some, request]) => apis.listPage(some, request, {}))),
    modify: (apis) => apis.modify(idOf("api", MANY.others - 1), nothing),
    delete: (apis) => apis.delete(idOf("api", MANY.others - 2), 1, []),
  },
  auditIndex: {
    indexed: (index) => index.indexed(),
    remove: (index) => index.remove(blockOfEntries(0)),
    removeSpans: (index) => index.removeSpans(1),
    add: (index) => index.add(MANY.blocks, blockOfEntries(MANY.blocks)),
    find: (index) => Promise.all([0, MANY.blocks / 2].map((from) => index.find({ kind: "actorId", value: "system" }, from, 64))),
    spans: (index) => Promise.all([0, MANY.blocks / 2].map((from) => index.spans(from, 500))),
  },
  auditLog: {
    head: (log) => log.head(),
    listAfter: (log) => Promise.all([0, MANY.others / 2].map((sequence) => log.listAfter(sequence, 500))),
    findBySequence: (log) => log.findBySequence(Array.from({ length: 500 }, (_, i) => i * 2 + 1)),
    findEntry: (log) => log.findEntry("logged_1"),
    stub: (log) => log.stub(),
    setStub: (log) => log.setStub({ sequence: 1, hash: "h1", droppedAt: 1, statement: "logged_2" }),
    removeThrough: (log) => log.removeThrough(0),
    findKnown: (log) => log.findKnown(ids("logged", 2_000)),
    append: (log) => log.append([]),
    writeErased: async (log) => log.writeErased(await log.listAfter(0, 200)),
    listPending: (log) => log.listPending(),
    findPending: (log) => Promise.all(auditedCollections.map((collection) => log.findPending(collection, 200))),
    listPendingMarks: (log) => Promise.all(auditedCollections.map((collection) => log.listPendingMarks(collection, 1_000))),
    settle: async (log) => log.settle("keys", await log.findPending("keys", 200)),
  },
  backfills: {
    find: (backfills) => backfills.find(),
    save: (backfills) => backfills.save({ pass: 1, collection: "keys", after: "", lookedAt: 0, filled: 0 }),
    fillKeys: (backfills) => Promise.all(["", idOf("key", MANY.keys - 50)].map((after) => backfills.fillKeys(after, 100))),
    fillIdentities: (backfills) => Promise.all(["", idOf("id", MANY.others - 50)].map((after) => backfills.fillIdentities(after, 100))),
  },
  changes: {
    append: (changes) => changes.append("ch_a", "node", [], 1),
    listAfter: (changes) => changes.listAfter(""),
  },
  counters: {
    read: (counters) => counters.read(idOf("counter", 1)),
    charge: (counters) =>
      Promise.all(
        ["counter_new", idOf("counter", 1), idOf("counter", 4)].map((key, i) => chargeWindow(counters, key, 1 + (i >> 1), 10, 1)),
      ),
    refund: (counters) => counters.refund(idOf("counter", 3), 1, 0),
    list: (counters) => counters.list?.({ $gte: "namespace:rlns_big:" }, 101),
  },
  counterList: {
    walk: async (list) => {
      const walk = { namespaceId: "rlns_big", run: "", prefix: "", from: undefined, wanted: 101, lengths: ALL_LENGTHS } as const;
      for (const prefix of ["", "identifier", "nobody"]) {
        let looked = 0;
        for await (const _ of (await list.walk({ ...walk, prefix })).counters) if (++looked === 1_000) break;
      }
    },
  },
  erasures: {
    list: (erasures) => erasures.list(),
    begin: (erasures) => erasures.begin(sampleErasure),
    save: (erasures) => erasures.save(sampleErasure),
    stripKeys: (erasures) => erasures.stripKeys("id_big", 100, 1, () => []),
    findKeysOf: (erasures) => erasures.findKeysOf(["id_big"], ids("key", 1_000)),
    forgetAnswers: (erasures) => erasures.forgetAnswers("nowhere", "", 100),
    detachKeys: (erasures) => erasures.detachKeys(["id_big"], 100),
    release: (erasures) => erasures.release(["id_big"], 1),
    scrub: (erasures) => erasures.scrub(),
    remove: (erasures) => erasures.remove("id_big"),
  },
  failedSignIns: {
    find: (failed) => failed.find(idOf("address", 1)),
    modify: (failed) => {
      const decide = () => ({ failures: [2], toldAt: 2, expireAt: new Date(8_000_000_000_000), events: [] });
      return Promise.all([idOf("address", 2), "new"].map((address) => failed.modify(address, 2, decide)));
    },
  },
  identities: {
    find: (identities) => identities.find(idOf("id", MANY.others - 1)),
    findByExternalId: (identities) => identities.findByExternalId(idOf("external", MANY.others - 1)),
    findMany: (identities) => identities.findMany([...ids("id", 1_000), ...living("id", 1_000)]),
    findIdsByExternalId: (identities) => identities.findIdsByExternalId([...ids("external", 500), ...living("external", 500)]),
    list: (identities) => Promise.all([page, search, until("id")].map((request) => identities.list(request, {}))),
    insert: (identities) => identities.insert({ id: "id_new", externalId: "new" }, 1, []),
    insertMany: (identities) => identities.insertMany([{ identity: { id: "id_more", externalId: "more" }, events: [] }], 1),
    findOrCreate: (identities) => identities.findOrCreate({ id: "id_x", externalId: idOf("external", MANY.others - 2) }, 1, []),
    modify: (identities) => identities.modify(idOf("id", MANY.others - 1), nothing),
    deleteToErase: (identities) => identities.deleteToErase(idOf("id", MANY.others - 4), 1, () => []),
  },
  keys: {
    find: (keys) => keys.find(idOf("key", 1)),
    findByHash: (keys) => keys.findByHash(idOf("hash", MANY.keys - 1)),
    list: (keys) =>
      Promise.all(
        [
          { apiId: "api_big" },
          { apiId: "api_small" },
          ...["api_big", "api_small", "api_none"].map((apiId) => ({ apiId, identityId: "id_big" })),
        ].flatMap((owner) =>
          ["", idOf("key", 1), idOf("key", MANY.keys - 200)].map((cursor) => keys.list(owner, { limit: 100, cursor }, {})),
        ),
      ),
    findTakenHashes: (keys) => keys.findTakenHashes([...ids("hash", 250), ...ids("imported", 250)]),
    findPresent: (keys) => keys.findPresent(ids("key", 500)),
    insertMany: (keys) => keys.insertMany([sampleKey()]),
    markUsed: (keys) => keys.markUsed(new Map([[idOf("key", 1), 1]])),
    insert: (keys) => keys.insert(sampleKey()),
    modify: (keys) => keys.modify(idOf("key", MANY.keys - 1), nothing),
    recordEvents: (keys) => keys.recordEvents(sampleKey({ _id: idOf("key", MANY.keys - 1) }), []),
    delete: (keys) => keys.delete(sampleKey({ _id: idOf("key", MANY.keys - 2) }), 1, []),
    erase: (keys) => keys.erase(sampleKey({ _id: idOf("key", MANY.keys - 3) }), 1, []),
    spend: (keys) => keys.spend(idOf("key", MANY.keys - 4), 1),
  },
  keySearch: {
    findByText: (search) =>
      Promise.all(
        (["start", "nameKey"] as const).flatMap((field) =>
          ["api_big", "api_small", "api_none"].flatMap((apiId) =>
            [undefined, { text: "start", id: idOf("key", 1) }, { text: "name", id: idOf("key", MANY.keys - 50) }].map((after) =>
              search.findByText({ apiId, field, prefix: field === "start" ? "st" : "na" }, after, 101, {}),
            ),
          ),
        ),
      ),
    findByLastFour: (search) =>
      Promise.all(
        [undefined, idOf("key", MANY.keys - 50)].map((after) =>
          search.findByLastFour({ apiId: "api_big", lastFour: "last" }, after, 101, {}),
        ),
      ),
    findOfApi: (search) =>
      Promise.all(
        [{ apiId: "api_big" }, { apiId: "api_big", identityId: "id_big" }].flatMap((where) =>
          [undefined, idOf("key", MANY.keys - 50)].map((after) => search.findOfApi(where, after, 101, {})),
        ),
      ),
    findOfIdentities: (search) => search.findOfIdentities({ apiIds: ids("api", 5), identityIds: ["id_big", ...ids("id", 99)] }, 101, {}),
    findIdentities: (search) => search.findIdentities("external", 1_000, {}),
    findMany: (search) => search.findMany(ids("key", 101, MANY.keys - 101), {}),
  },
  leases: {
    acquire: (leases) => leases.acquire(idOf("lease", 1), "me", 2, 10),
    release: (leases) => leases.release(idOf("lease", 1), "me"),
  },
  migrations: {
    find: (migrations) => migrations.find(idOf("mig", 1)),
    list: (migrations) => migrations.list(),
    listPage: (migrations) => Promise.all([page, until("mig")].map((request) => migrations.listPage(request, {}))),
    insert: (migrations) => migrations.insert({ id: "mig_new", algorithm: "sha256" }, 1, []),
    delete: (migrations) => migrations.delete(idOf("mig", MANY.others - 1), 1, []),
  },
  namespaces: {
    find: (namespaces) => Promise.all([idOf("rlns", 1), idOf("name", 1), "none"].map((name) => namespaces.find(name))),
    listPage: (namespaces) => Promise.all(newestFirst("rlns").map(([some, request]) => namespaces.listPage(some, request, {}))),
    findOrCreate: (namespaces) => namespaces.findOrCreate({ id: "rlns_x", name: idOf("name", 1) }, 1, []),
    delete: (namespaces) => namespaces.delete(idOf("rlns", MANY.others - 1), 1, []),
  },
  nodes: {
    knownAuditFormat: (nodes) => nodes.knownAuditFormat(1),
    write: (nodes) => nodes.write(sampleNode),
    remove: (nodes) => nodes.remove(idOf("node", 2)),
    list: (nodes) => nodes.list(1),
  },
  overrides: {
    find: (overrides) => overrides.find("rlns_big", idOf("identifier", MANY.others - 1)),
    listAll: (overrides) => overrides.listAll("rlns_big"),
    list: (overrides) => Promise.all([page, until("rlor")].map((request) => overrides.list("rlns_big", request, {}))),
    set: (overrides) =>
      overrides.set(
        { namespaceId: "rlns_big", identifier: idOf("identifier", MANY.others - 1), limit: 1, duration: 1 },
        "rlor_x",
        1,
        () => [],
      ),
    delete: (overrides) =>
      overrides.delete(
        {
          _id: idOf("rlor", MANY.others - 2),
          v: SCHEMA_VERSION,
          workspaceId: WORKSPACE_ID,
          createdAt: 1,
          namespaceId: "rlns_big",
          identifier: "i",
          limit: 1,
          duration: 1,
        },
        1,
        [],
      ),
  },
  permissions: {
    findMany: (permissions) => permissions.findMany([...ids("perm", 500), ...living("perm", 500)]),
    findManyBySlug: (permissions) => permissions.findManyBySlug([...ids("slug", 500), ...living("slug", 500)]),
    list: (permissions) => Promise.all([page, search, until("perm")].map((request) => permissions.list(request, {}))),
    insert: (permissions) => permissions.insert({ id: "perm_new", name: "new", slug: "new" }, 1, []),
    findOrCreate: (permissions) => permissions.findOrCreate({ id: "perm_x", name: "x", slug: idOf("slug", MANY.others - 1) }, 1, []),
    modify: (permissions) => permissions.modify(idOf("perm", MANY.others - 1), nothing),
    delete: (permissions) => permissions.delete(idOf("perm", MANY.others - 2), 1, []),
  },
  reservations: {
    find: (reservations) => reservations.find(idOf("idem", 1)),
    insert: (reservations) =>
      reservations.insert({
        _id: "idem_new",
        request: "r",
        salt: "s",
        now: 1,
        holder: "h",
        leaseUntil: 1,
        permissions: [],
        expireAt: new Date(8_000_000_000_000),
      }),
    update: (reservations) => reservations.update(idOf("idem", 1), "h", { done: true }),
    takeOver: async (reservations) => {
      const read = await reservations.find(idOf("idem", 2));
      return read && reservations.takeOver(read, "other", 2);
    },
    remove: (reservations) => reservations.remove(idOf("idem", 3), "h"),
    hasEvent: (reservations) => reservations.hasEvent("keys", idOf("key", MANY.keys - 1), "log_none"),
    isLogged: (reservations) => reservations.isLogged(idOf("logged", 1)),
  },
  roles: {
    findMany: (roles) => roles.findMany([...ids("role", 500), ...living("role", 500)]),
    findManyByName: (roles) => roles.findManyByName([...ids("name", 500), ...living("name", 500)]),
    list: (roles) => Promise.all([page, search, until("role")].map((request) => roles.list(request, {}))),
    insert: (roles) => roles.insert({ id: "role_new", name: "new", permissionIds: [] }, 1, []),
    findOrCreate: (roles) => roles.findOrCreate({ id: "role_x", name: idOf("name", MANY.others - 1), permissionIds: [] }, 1, []),
    modify: (roles) => roles.modify(idOf("role", MANY.others - 1), nothing),
    delete: (roles) => roles.delete(idOf("role", MANY.others - 2), 1, []),
  },
  rootKeys: {
    find: (rootKeys) => rootKeys.find(idOf("rk", 1)),
    findByHash: (rootKeys) => rootKeys.findByHash(idOf("hash", MANY.others - 1)),
    listPage: (rootKeys) =>
      Promise.all(
        [undefined, new Set([...ids("rk", 500), ...living("rk", 500)])].flatMap((some) =>
          [page, until("rk")].map((request) => rootKeys.listPage(some, request, {})),
        ),
      ),
    delete: (rootKeys) =>
      rootKeys.delete(
        {
          _id: idOf("rk", MANY.others - 1),
          v: SCHEMA_VERSION,
          workspaceId: WORKSPACE_ID,
          createdAt: 1,
          start: "s",
          end: "e",
          enabled: true,
        },
        1,
        [],
      ),
    list: (rootKeys) => rootKeys.list(),
    markUsed: (rootKeys) => rootKeys.markUsed(new Map([[idOf("rk", 1), 1]])),
    noteUses: (rootKeys) => rootKeys.noteUses(new Map(ids("rk", 50).map((id) => [id, new Map([["api.*.read_api", 1]])]))),
    insert: (rootKeys) =>
      rootKeys.insert({ _id: "rk_new", v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, createdAt: 1, start: "s", end: "e", enabled: true }),
    findTakenHashes: (rootKeys) => rootKeys.findTakenHashes(ids("hash", 500)),
    modify: (rootKeys) => rootKeys.modify(idOf("rk", MANY.others - 2), nothing),
  },
  sessions: {
    find: (sessions) => sessions.find(idOf("ses", MANY.others - 1)),
    findByHash: (sessions) => sessions.findByHash(idOf("hash", MANY.others - 1)),
    listOf: (sessions) => sessions.listOf("rk_big"),
    countKept: (sessions) => Promise.all([1, 8_000_000_000_000].map((now) => sessions.countKept(now, 1_000))),
    insert: (sessions) => {
      const times = { lastUsedAt: 1, expiresAt: 1, expireAt: new Date(8_000_000_000_000) };
      return sessions.insert({ id: "ses_new", hash: "h", rootKeyId: "rk_big", opening: 0, ...times }, 1, []);
    },
    markUsed: (sessions) => sessions.markUsed(idOf("ses", MANY.others - 1), 2),
    elevate: (sessions) => {
      const session = { _id: idOf("ses", MANY.others - 2), hash: idOf("hash", MANY.others - 2) };
      return sessions.elevate(session, { hash: "other", elevatedUntil: 2, lastUsedAt: 2 }, []);
    },
    end: (sessions) => sessions.end(idOf("ses", MANY.others - 3), 2, []),
  },
  sweeps: {
    findDue: (sweeps) => Promise.all(sweptCollections.map((collection) => sweeps.findDue(collection, 5, 1_000))),
    removeKeys: (sweeps) => Promise.all(["api_small", "api_waiting"].map((apiId) => sweeps.removeKeys(apiId, 100))),
    hasKeys: (sweeps) => sweeps.hasKeys("api_big"),
    detachIdentities: (sweeps) => sweeps.detachIdentities(["id_big", ...ids("id", 99)], 100),
    findWalk: (sweeps) => sweeps.findWalk(),
    saveWalk: (sweeps) => sweeps.saveWalk(walk),
    endWalk: (sweeps) => sweeps.endWalk(),
    pullIds: (sweeps) => Promise.all((["roles", "keys"] as const).map((from) => sweeps.pullIds(from, walk, 100))),
    removeRows: (sweeps) => sweeps.removeRows("roles", ids("role", 1_000)),
  },
};
