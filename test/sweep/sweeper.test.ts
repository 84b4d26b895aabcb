import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createApisRepository } from "../../src/features/apis/apisRepository.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { createAuditMover } from "../../src/features/audit/auditMover.ts";
import { createIdentitiesRepository, deletionOfIdentity } from "../../src/features/identities/identitiesRepository.ts";
import { createKeysRepository } from "../../src/features/keys/keysRepository.ts";
import { createPermissionsRepository } from "../../src/features/permissions/permissionsRepository.ts";
import { createRolesRepository } from "../../src/features/permissions/rolesRepository.ts";
import type { LeasedRounds } from "../../src/operations/sweep/leasedRounds.ts";
import { createSweeper } from "../../src/operations/sweep/sweeper.ts";
import { createSweepsRepository } from "../../src/operations/sweep/sweepsRepository.ts";
import { tagOf } from "../../src/platform/base/revisions.ts";
import type { AuditEvent } from "../../src/platform/storage/port/auditEvents.ts";
import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { sweptCollections } from "../../src/platform/storage/port/sweptCollections.ts";
import { createLeasesRepository, type LeasesRepository } from "../../src/platform/storage/repositories/leasesRepository.ts";
import { withEvents } from "../../src/platform/storage/repositories/shared/audited.ts";
import { sampleKey } from "../storage/contract/samples.ts";
import { dyingAfterEachWrite } from "../support/dyingProcess.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

const clock = createTestClock();
const KEYS = 450;
/** The deleted objects, and the live ones next to them. */
const dead = { apiId: "api_dead", identityId: "id_dead", permissionId: "perm_dead", roleId: "role_dead" };
const alive = { apiId: "api_alive", identityId: "id_alive", permissionId: "perm_alive", roleId: "role_alive" };

const event = (id: string): AuditEvent => ({
  id,
  event: "test",
  time: clock.now(),
  actor: { type: "system", id: "system" },
  correlationId: "cor_1",
  display: "",
  resources: [],
});

const repositories = (store: Store) => ({
  apis: createApisRepository(store),
  keys: createKeysRepository(store),
  identities: createIdentitiesRepository(store),
  permissions: createPermissionsRepository(store),
  roles: createRolesRepository(store),
});

const sweeperOn = (store: Store, leases: LeasesRepository = createLeasesRepository(store)): LeasedRounds =>
  createSweeper({ clock, leaseClock: clock, leases, sweeps: createSweepsRepository(store) });
const moveEvents = async (store: Store): Promise<void> => {
  const mover = createAuditMover({ clock, auditLog: createAuditLogRepository(store), leases: createLeasesRepository(store) });
  await mover.run();
  await mover.stop();
};

/** Keys that hold all of it, with one in ten that holds nothing of what is deleted. */
const fill = async (store: Store): Promise<void> => {
  const { apis, identities, permissions, roles } = repositories(store);
  const now = clock.now();
  for (const { apiId, identityId, permissionId, roleId } of [dead, alive]) {
    await apis.insert({ id: apiId, name: apiId }, now, []);
    await identities.insert({ id: identityId, externalId: identityId }, now, []);
    await permissions.insert({ id: permissionId, name: permissionId, slug: permissionId }, now, []);
    await roles.insert({ id: roleId, name: roleId, permissionIds: [alive.permissionId, dead.permissionId] }, now, []);
  }
  const held = Array.from({ length: KEYS }, (_, i) =>
    sampleKey({
      apiId: i % 3 === 0 ? dead.apiId : alive.apiId,
      identityId: i % 10 === 0 ? alive.identityId : dead.identityId,
      permissionIds: i % 10 === 0 ? [alive.permissionId] : [alive.permissionId, dead.permissionId],
      roleIds: i % 10 === 0 ? [alive.roleId] : [dead.roleId, alive.roleId],
    }),
  );
  await store.collection("keys").insertMany(held);
};

const deleteAll = async (store: Store): Promise<void> => {
  const { apis, identities, permissions, roles } = repositories(store);
  const now = clock.now();
  expect(await apis.delete(dead.apiId, now, [event("log_api")])).toBe(true);
  const deletion = { update: deletionOfIdentity(now), events: [event("log_identity")] };
  expect(await identities.modify(dead.identityId, () => deletion)).toMatchObject({ _id: dead.identityId });
  expect(await permissions.delete(dead.permissionId, now, [event("log_permission")])).toBe(true);
  expect(await roles.delete(dead.roleId, now, [event("log_role")])).toBe(true);
};

const keysIn = (store: Store): Promise<KeyDocument[]> => store.collection("keys").find({}).toArray();
const tombstones = async (store: Store): Promise<string[]> => {
  const found: string[] = [];
  for (const name of sweptCollections) {
    const gone = await store
      .collection(name as "apis")
      .find({ deletedAt: { $exists: true } })
      .toArray();
    found.push(...gone.map(({ _id }) => _id));
  }
  return found;
};

/** Nothing holds what was deleted, everything else is as it was. */
const expectSwept = async (store: Store): Promise<void> => {
  const keys = await keysIn(store);
  expect(keys).toHaveLength((KEYS * 2) / 3);
  for (const { apiId, identityId, permissionIds, roleIds } of keys) {
    expect({ apiId, permissionIds, roleIds }).toEqual({ apiId: alive.apiId, permissionIds: [alive.permissionId], roleIds: [alive.roleId] });
    expect([undefined, alive.identityId]).toContain(identityId);
  }
  expect(keys.filter(({ identityId }) => identityId !== undefined)).toHaveLength(KEYS / 10 - KEYS / 30);
  const roles = await store.collection("roles").find({}).toArray();
  expect(roles.map(({ _id, permissionIds }) => [_id, permissionIds])).toEqual([[alive.roleId, [alive.permissionId]]]);
  expect(await tombstones(store)).toEqual([]);
  expect(await store.collection("sweeps").find({}).toArray()).toEqual([]);
};

describe.each(engines)("the sweep on $name", (engine) => {
  let store: Store;
  beforeEach(async () => {
    store = await engine.open();
    await fill(store);
    await deleteAll(store);
    await moveEvents(store);
  });
  afterEach(() => engine.close());

  test("removes what deletions left behind, and nothing else, once no call can write it any more", async () => {
    const before = await keysIn(store);
    await sweeperOn(store).run();
    expect(await keysIn(store)).toEqual(before);
    expect((await tombstones(store)).sort()).toEqual(Object.values(dead).sort());
    clock.advance(120_000);
    await sweeperOn(store).run();
    await expectSwept(store);
    // Every change counts, so that one that was decided before it is decided again; it is no change of a key to its owner.
    for (const { revision, updatedAt } of await keysIn(store)) {
      expect(revision).toBeLessThanOrEqual(2);
      expect(updatedAt).toBeUndefined();
    }
  });

  test("[management §2] changes no tag: what was read before it may still be changed after it", async () => {
    const tagsOf = async (): Promise<Map<string, string>> => {
      const roles = await store
        .collection("roles")
        .find({ nameKey: { $exists: true } })
        .toArray();
      const keys = (await keysIn(store)).filter(({ apiId }) => apiId === alive.apiId);
      return new Map([...roles, ...keys].map((document) => [document._id, tagOf(document)]));
    };
    const before = await tagsOf();
    clock.advance(120_000);
    await sweeperOn(store).run();
    await expectSwept(store);
    expect(await tagsOf()).toEqual(before);
  });

  test("is finished by another process when one dies after any of its writes", async () => {
    clock.advance(120_000);
    const writes = await dyingAfterEachWrite(store, async (mortal) => {
      await sweeperOn(mortal)
        .run()
        .catch(() => undefined);
      clock.advance(10_001);
    });
    expect(writes).toBeGreaterThan(4);
    await expectSwept(store);
  });

  test("by several nodes at once does no harm", async () => {
    clock.advance(120_000);
    const always: LeasesRepository = { acquire: async () => true, release: async () => undefined };
    await Promise.all([1, 2, 3].map(() => sweeperOn(store, always).run()));
    await sweeperOn(store).run();
    await expectSwept(store);
  });

  test("runs on one node during its lease", async () => {
    clock.advance(120_000);
    expect(await createLeasesRepository(store).acquire("sweep", "another node", clock.now(), 10_000)).toBe(true);
    const before = await keysIn(store);
    await sweeperOn(store).run();
    expect(await keysIn(store)).toEqual(before);
  });

  test("loses no event: what still carries one waits until it has been moved", async () => {
    clock.advance(120_000);
    const { roles } = repositories(store);
    const [key] = await store.collection("keys").find({ apiId: dead.apiId }).toArray();
    await store.collection("keys").updateOne({ _id: key?._id ?? "" }, withEvents<KeyDocument>({}, [event("log_late")]));
    await roles.insert({ id: "role_late", name: "late", permissionIds: [] }, clock.now(), []);
    await roles.delete("role_late", clock.now() - 120_000, [event("log_late_role")]);
    const sweeper = sweeperOn(store);
    for (let round = 0; round < 2; round++) await sweeper.run();
    expect((await keysIn(store)).filter(({ apiId }) => apiId === dead.apiId).map(({ _id }) => _id)).toEqual([key?._id]);
    expect((await tombstones(store)).sort()).toEqual([dead.apiId, "role_late"]);
    await moveEvents(store);
    for (let round = 0; round < 2; round++) await sweeper.run();
    await expectSwept(store);
    const moved = await store.collection("audit").find({}).toArray();
    expect(moved.map(({ _id }) => _id)).toEqual(expect.arrayContaining(["log_late", "log_late_role"]));
  });

  test("[permissions §11] a change of a key that was decided before the sweep does not bring a deleted id back", async () => {
    clock.advance(120_000);
    const [key] = await store.collection("keys").find({ apiId: alive.apiId, identityId: dead.identityId }).toArray();
    let decided = 0;
    await repositories(store).keys.modify(key?._id ?? "", async ({ roleIds }) => {
      if (++decided === 1) await sweeperOn(store).run();
      return { update: { $set: { roleIds } }, events: [] };
    });
    expect(decided).toBe(2);
    await expectSwept(store);
  });

  test("ends with the service, and leaves the rest to the next start", async () => {
    clock.advance(120_000);
    const sweeper = sweeperOn(store);
    const running = sweeper.run();
    await sweeper.stop();
    await running;
    expect((await tombstones(store)).length).toBeGreaterThan(0);
    await sweeperOn(store).run();
    await expectSwept(store);
  });
});
