import { afterAll, describe, expect, test } from "vitest";
import { type Intercepted, interceptStore } from "../../bench/harness/interceptStore.ts";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { createAuditMover } from "../../src/features/audit/auditMover.ts";
import { verifyAudit } from "../../src/features/audit/verifyAudit.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import type { AuditEvent } from "../../src/platform/storage/port/auditEvents.ts";
import { auditedCollections } from "../../src/platform/storage/port/auditedCollections.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { createLeasesRepository } from "../../src/platform/storage/repositories/leasesRepository.ts";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { createObjects, nothing, type Objects } from "../support/bodies.ts";
import { background, changing, manyWritesOf, unique, writingMost } from "../support/changing.ts";
import { sized } from "../support/sized.ts";
import { type Engine, engines } from "../support/stores.ts";
import { eventsIn } from "../support/written.ts";

/** A process on a store that outlives it. */
interface Node {
  readonly api: Api;
  readonly call: (procedure: string, body: unknown) => Promise<Answer>;
  /** Makes the node die right after this number of writes: the last write is stored, but its caller gets no answer. */
  readonly dieAfter: (writes: number) => void;
  readonly isDead: () => boolean;
}

/** Writes several documents one at a time: a process may die between any two of them. */
const oneByOne = (store: Store): Store => ({
  ...store,
  collection: (name) => {
    const inner = store.collection(name);
    return {
      ...inner,
      insertMany: async (documents, options) => {
        for (const document of documents) await inner.insertOne(document, options);
      },
    };
  },
});

/** Not reads, and not the notes of the last use, which count no revision. */
const isOfCall = ({ kind, name, operations = [] }: Intercepted): boolean =>
  kind === "write" && (name !== "bulkWrite" || operations.some((each) => "updateOne" in each && "$inc" in each.updateOne.update));

const startNode = async (engine: Engine, store: Store): Promise<Node> => {
  let left = Number.POSITIVE_INFINITY;
  let dead = false;
  const die = (): never => {
    dead = true;
    throw new StoreUnavailableError("the process died", { outcomeUnknown: true });
  };
  // One after the other: of several at once those on their way would still arrive after the death.
  let writing: Promise<unknown> = Promise.resolve();
  const mortal = interceptStore(store, async (operation, what) => {
    if (dead) die();
    if (!isOfCall(what) || background.includes(what.collection)) return operation();
    const written = writing.then(async () => {
      if (dead || left === 0) die();
      const result = await operation();
      if (--left === 0) die();
      return result;
    });
    writing = written.catch(() => undefined);
    return written;
  });
  const api = await startApi(engine, { store: { ...oneByOne(mortal), close: async () => undefined } });
  return {
    api,
    call: async (procedure, body) => (await api.edges[0]?.call(procedure, body, api.rootKey)) ?? expect.unreachable(),
    dieAfter: (writes) => {
      left = writes;
    },
    isDead: () => dead,
  };
};

/** Every object as it is, by id, without what is no part of a change; and all events by id. Root keys of the test itself are left out. */
interface Snapshot {
  readonly objects: ReadonlyMap<string, string>;
  readonly events: ReadonlyMap<string, AuditEvent>;
}

const snapshotOf = async (store: Store): Promise<Snapshot> => {
  const objects = new Map<string, string>();
  for (const name of auditedCollections) {
    const found = await store
      .collection(name as "apis")
      .find({}, { sort: { _id: 1 } })
      .toArray();
    for (const { outbox: _outbox, outboxChanges: _told, pendingMark: _mark, ...rest } of found) {
      // Not changes of the object: the last use follows in its own time, and a row whose events have been moved may go.
      const { lastUsedAt: _used, ...object } = rest as typeof rest & { readonly lastUsedAt?: number };
      if (object.erased !== true && object.name !== "test") objects.set(object._id, JSON.stringify(object));
    }
  }
  const events = (await eventsIn(store)).filter(({ resources }) => !resources.some(({ name }) => name === "test"));
  return { objects, events: new Map(events.map((event) => [event.id, event])) };
};

/** The objects changed since `before`, after proof that every change has its event and every event its change. */
const changedSince = async (store: Store, before: Snapshot): Promise<ReadonlySet<string>> => {
  const after = await snapshotOf(store);
  const ids = new Set([...before.objects.keys(), ...after.objects.keys()]);
  const changed = new Set([...ids].filter((id) => before.objects.get(id) !== after.objects.get(id)));
  const events = [...after.events.values()].filter(({ id }) => !before.events.has(id));
  const told = new Set(events.flatMap(({ resources }) => resources.map(({ id }) => id)));
  expect([...changed].filter((id) => !told.has(id))).toEqual([]);
  expect(events.filter(({ resources }) => !resources.some(({ id }) => changed.has(id)))).toEqual([]);
  return changed;
};

/** Objects that the procedure has something to do with. */
const prepare = async ({ call }: Node, procedure: string): Promise<Objects> => {
  const objects = await createObjects(async (name, body) => dataOf(await call(name, body)), [procedure]);
  const { keyId, role, permission } = objects;
  if (keyId === nothing.keyId) return objects;
  dataOf(await call("keys.updateKey", { keyId, roles: [role], permissions: [permission], credits: { remaining: 10 } }));
  if (procedure !== "keys.addRoles") return objects;
  const other = unique("role");
  dataOf(await call("permissions.createRole", { name: other }));
  return { ...objects, role: other };
};

/** MongoDB's half is a sample: what is proved here is a matter of the order of writes, which is the same. */
const sample = ["apis.deleteApi", "keys.createKey", "keys.rerollKey", "permissions.setRolePermissions"];

/** No management calls; they make the namespaces that they name. */
const checks = ["ratelimit.limit", "ratelimit.multiLimit"];

const proceduresOn = ({ name }: Engine): readonly string[] =>
  name === "embedded" ? [...sized(writingMost, changing), ...checks] : changing.filter((each) => sample.includes(each));

describe.each(engines)("a process that dies after any of its writes, on $name", (engine) => {
  afterAll(() => engine.close());

  test.each(proceduresOn(engine))(
    "[protocol §2, §11] %s: changes and events are together or neither, the log is whole, and the repeat finishes",
    async (procedure) => {
      const store = await engine.open();
      // No node moves events meanwhile: those writes would belong to no call.
      const leases = createLeasesRepository(store);
      await leases.acquire("audit", "this test", systemClock.now(), 3_600_000);
      let node = await startNode(engine, store);
      for (let writes = 0; ; writes++) {
        const objects = await prepare(node, procedure);
        const body = manyWritesOf(procedure, checks.includes(procedure) ? { ...objects, namespace: unique("namespace") } : objects);
        const before = await snapshotOf(store);
        node.dieAfter(writes);
        const { status } = await node.call(procedure, body);
        if (!node.isDead()) {
          expect(status).toBe(200);
          expect((await changedSince(store, before)).size).toBeGreaterThan(0);
          expect(writes).toBeGreaterThan(1);
          break;
        }
        // A check is answered without the store.
        expect(checks.includes(procedure) ? [200, 503] : [503]).toContain(status);
        await node.api.close();

        const changed = await changedSince(store, before);
        expect(changed.size > 0, `${writes} writes`).toBe(writes > 0);
        node = await startNode(engine, store);
        const repeat = (await node.call(procedure, body)).status;
        // Objects that the first call already made or deleted are reported to the caller.
        expect(writes === 0 ? [200] : [200, 404, 409]).toContain(repeat);
        const finished = await changedSince(store, before);
        expect(finished.size).toBeGreaterThan(0);
        if (repeat !== 200) expect([...finished]).toEqual([...changed]);
      }
      await node.api.close();
      await leases.release("audit", "this test");
      const auditLog = createAuditLogRepository(store);
      await createAuditMover({ clock: systemClock, auditLog, leases }).run();
      expect(await verifyAudit(auditLog)).toMatchObject({ faults: [], pending: 0 });
    },
  );
});
