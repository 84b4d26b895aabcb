import { afterAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import { createAppendEvents } from "../../../src/audit/appendEvents.ts";
import { auditEvent, resource, systemSource } from "../../../src/audit/auditEvent.ts";
import { createAuditMover } from "../../../src/audit/auditMover.ts";
import { verifyAudit } from "../../../src/audit/verifyAudit.ts";
import { unrestrictedGrants } from "../../../src/domain/authorization.ts";
import { systemClock } from "../../../src/domain/clock.ts";
import { createId } from "../../../src/domain/ids.ts";
import type { Call } from "../../../src/procedures/shared/call.ts";
import { eraseIdentity } from "../../../src/procedures/shared/identities/eraseIdentity.ts";
import { StoreUnavailableError } from "../../../src/storage/port/errors.ts";
import type { Store } from "../../../src/storage/port/store.ts";
import { createAuditLogRepository } from "../../../src/storage/repositories/auditLogRepository.ts";
import { createErasuresRepository } from "../../../src/storage/repositories/erasuresRepository.ts";
import { createIdentitiesRepository } from "../../../src/storage/repositories/identitiesRepository.ts";
import { createKeysRepository } from "../../../src/storage/repositories/keysRepository.ts";
import { createNodesRepository } from "../../../src/storage/repositories/nodesRepository.ts";
import { newDocument } from "../../../src/storage/repositories/shared/audited.ts";
import { sized } from "../../support/sized.ts";
import { engines } from "../../support/stores.ts";

const clock = systemClock;
const NAME = "dave_7731";
const noLeases = { acquire: async () => true, release: async () => undefined };

const depsOn = (store: Store) => {
  const auditLog = createAuditLogRepository(store);
  return {
    auditLog,
    erasures: createErasuresRepository(store),
    identities: createIdentitiesRepository(store),
    nodes: createNodesRepository(store),
    nodesClock: clock,
    appendEvents: createAppendEvents({ clock, auditLog }),
    moveEvents: createAuditMover({ clock, auditLog, leases: noLeases }).run,
    analytics: undefined,
  };
};

/** A call of `identities.deleteIdentity` on a node that works with the store. */
const erase = (store: Store) => {
  const call = {
    caller: { rootKeyId: "rk_1", name: "eraser", expires: undefined, grants: unrestrictedGrants },
    ...{ receivedAt: clock.now(), correlationId: createId("cor", clock.now()), signal: new AbortController().signal },
    newId: (prefix: "id") => createId(prefix, clock.now()),
    begin: async () => false,
  };
  return eraseIdentity(depsOn(store), NAME, call as unknown as Call);
};

/** An identity with three keys, one of them deleted, and events that name them, some in the log and some on their way there. */
const fill = async (store: Store): Promise<void> => {
  const identities = createIdentitiesRepository(store);
  const keys = createKeysRepository(store);
  const source = systemSource(clock);
  const identityId = createId("id", clock.now());
  const made = [auditEvent(source, "identity.create", `Created identity ${NAME}`, resource("identity", identityId, NAME))];
  await identities.insert({ id: identityId, externalId: NAME, meta: JSON.stringify({ name: NAME }) }, clock.now(), made);
  for (const i of [1, 2, 3]) {
    if (i === 3) await depsOn(store).moveEvents();
    const keyId = createId("key", clock.now());
    const events = [auditEvent(source, "key.create", `Created key ${keyId}`, resource("key", keyId, NAME))];
    await keys.insert({
      ...newDocument(keyId, clock.now(), events),
      ...{ apiId: "api_1", hash: keyId, start: "k", name: NAME, nameKey: NAME, meta: JSON.stringify({ name: NAME }), identityId },
      ...{ enabled: true, permissionIds: [], roleIds: [], ratelimits: [], revision: 0 },
    });
    const key = await keys.find(keyId);
    if (i === 2 && key !== null) await keys.delete(key, clock.now(), []);
  }
};

const remains = async (store: Store): Promise<string[]> => {
  const names = ["identities", "keys", "audit", "system", "idempotency"] as const;
  const found = await Promise.all(names.map(async (name) => JSON.stringify(await store.collection(name).find({}).toArray())));
  return names.filter((_, i) => found[i]?.includes(NAME) || found[i]?.includes("erased:"));
};

describe.each(engines)("[data §4] an erasure on $name", (engine) => {
  afterAll(() => engine.close());

  test("that dies at any operation leaves a whole log, and is ended by the next call", { timeout: 120_000 }, async () => {
    const store = await engine.open();
    const step = sized(3, 1);
    let deaths = 0;
    for (let at = 0, reached = true; reached; at += step) {
      reached = false;
      await fill(store);
      let operations = 0;
      const dying = interceptStore(store, async (operation) => {
        if (operations++ < at) return operation();
        reached = true;
        throw new StoreUnavailableError("died");
      });
      const answer = await erase(dying).catch(() => undefined);
      expect((await verifyAudit(createAuditLogRepository(store))).faults).toEqual([]);
      if (answer === undefined) {
        deaths++;
        // Unless it died once all was done.
        if ((await remains(store)).length > 0) expect(await erase(store)).toMatchObject({ done: true, keys: expect.anything() });
      }
      expect(await remains(store)).toEqual([]);
      expect((await verifyAudit(createAuditLogRepository(store))).faults).toEqual([]);
    }
    expect(deaths).toBeGreaterThan(5);
    const stripped = await store.collection("keys").find({}).toArray();
    for (const key of stripped) for (const field of ["name", "nameKey", "meta", "identityId"]) expect(key).not.toHaveProperty(field);
  });
});
