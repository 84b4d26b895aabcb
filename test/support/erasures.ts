import { createAppendEvents } from "../../src/features/audit/appendEvents.ts";
import { auditEvent, resource, systemSource } from "../../src/features/audit/auditEvent.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { createAuditMover } from "../../src/features/audit/auditMover.ts";
import type { Call } from "../../src/features/calls/call.ts";
import type { Mutation } from "../../src/features/idempotency/mutation.ts";
import { type EraseIdentityDeps, eraseIdentity } from "../../src/features/identities/eraseIdentity.ts";
import { createErasuresRepository } from "../../src/features/identities/erasuresRepository.ts";
import { createIdentitiesRepository } from "../../src/features/identities/identitiesRepository.ts";
import { createKeysRepository } from "../../src/features/keys/keysRepository.ts";
import { createNodesRepository } from "../../src/features/nodes/nodesRepository.ts";
import { unrestrictedGrants } from "../../src/platform/authorization/authorization.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createId } from "../../src/platform/base/ids.ts";
import type { AuditEvent } from "../../src/platform/storage/port/auditEvents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { newDocument } from "../../src/platform/storage/repositories/shared/audited.ts";

const clock = systemClock;
/** Name of the person that `fillPerson` makes. */
export const NAME = "dave_7731";
const noLeases = { acquire: async () => true, release: async () => undefined };

/** The dependencies of an erasure, on a node whose mover is the only writer of the log. */
export const erasureOn = (store: Store): EraseIdentityDeps => {
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

/** A call that an erasure answers, by a caller who may do everything. */
export const eraserCall = (): Call => {
  const call = {
    caller: { rootKeyId: "rk_1", name: "eraser", expires: undefined, grants: unrestrictedGrants },
    ...{ receivedAt: clock.now(), correlationId: createId("cor", clock.now()), signal: new AbortController().signal },
    newId: (prefix: "id") => createId(prefix, clock.now()),
    perform: ({ write, answer }: Mutation<object, object>) => write((events) => events).then(answer),
  };
  return call as unknown as Call;
};

/** A call of `identities.deleteIdentity` on a node that works with the store. */
export const erasePerson = (
  store: Store,
  deps: Partial<EraseIdentityDeps> = {},
  identity: string = NAME,
): ReturnType<typeof eraseIdentity> => eraseIdentity({ ...erasureOn(store), ...deps }, identity, eraserCall());

/** A key with events that have not reached the log. */
export const insertKey = (
  store: Store,
  { keyId, name, ...fields }: { readonly keyId: string; readonly name: string; readonly identityId?: string; readonly meta?: string },
  events: readonly AuditEvent[],
): Promise<unknown> =>
  createKeysRepository(store).insert({
    ...newDocument(keyId, clock.now(), events),
    ...{ apiId: "api_1", hash: keyId, start: "k", name, nameKey: name, ...fields },
    ...{ enabled: true, permissionIds: [], roleIds: [], ratelimits: [], revision: 0 },
  });

/** An identity with three keys, one of them deleted, and events that name them, some in the log and some on their way there. */
export const fillPerson = async (store: Store): Promise<void> => {
  const identities = createIdentitiesRepository(store);
  const keys = createKeysRepository(store);
  const source = systemSource(clock);
  const identityId = createId("id", clock.now());
  const made = [auditEvent(source, "identity.create", `Created identity ${NAME}`, resource("identity", identityId, NAME))];
  await identities.insert({ id: identityId, externalId: NAME, meta: JSON.stringify({ name: NAME }) }, clock.now(), made);
  for (const i of [1, 2, 3]) {
    if (i === 3) await erasureOn(store).moveEvents();
    const keyId = createId("key", clock.now());
    const events = [auditEvent(source, "key.create", `Created key ${keyId}`, resource("key", keyId, NAME))];
    await insertKey(store, { keyId, identityId, name: NAME, meta: JSON.stringify({ name: NAME }) }, events);
    const key = await keys.find(keyId);
    if (i === 2 && key !== null) await keys.delete(key, clock.now(), []);
  }
};

/** The collections that still contain data of the person. */
export const remainsOf = async (store: Store): Promise<string[]> => {
  const names = ["identities", "keys", "audit", "system", "idempotency"] as const;
  const found = await Promise.all(names.map(async (name) => JSON.stringify(await store.collection(name).find({}).toArray())));
  return names.filter((_, i) => found[i]?.includes(NAME) || found[i]?.includes("erased:"));
};
