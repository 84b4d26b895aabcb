import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { type RevisedObject, tagOf } from "../../src/platform/base/revisions.ts";
import { WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { CollectionName, KeyDocument } from "../../src/platform/storage/port/documents.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { createObjects, nothing, type Objects } from "../support/bodies.ts";
import { background, changing, manyWritesOf, unique, writingMost } from "../support/changing.ts";
import { asking } from "../support/conditional.ts";
import { sized } from "../support/sized.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";
import { eventsIn } from "../support/written.ts";

const reads = ["find", "findOne"];

/** A store that dies right after a write: the write is stored, but its caller gets no answer, and every call fails until it is revived. */
const createMortality = () => {
  let left = Number.POSITIVE_INFINITY;
  let dead = false;
  const die = (): never => {
    throw new StoreUnavailableError("the store died", { outcomeUnknown: true });
  };
  return {
    intercept: async <T>(operation: () => Promise<T>, { collection, name }: { collection: CollectionName; name: string }): Promise<T> => {
      if (dead) die();
      const result = await operation();
      if (!reads.includes(name) && !background.includes(collection) && --left === 0) {
        dead = true;
        die();
      }
      return result;
    },
    dieAfter: (writes: number) => {
      left = writes;
    },
    /** Whether it had died. */
    revive: (): boolean => {
      const died = dead;
      dead = false;
      left = Number.POSITIVE_INFINITY;
      return died;
    },
  };
};

describe.each(engines)("on $name", (engine) => {
  // Not behind the store, which removes what has expired by its own clock.
  const clock = createTestClock(systemClock.now());
  const mortality = createMortality();
  let api: Api;

  // A store for each procedure: all there is gets compared again and again.
  beforeEach(async () => {
    const store = await engine.open();
    api = await startApi(engine, { clock, store: interceptStore(store, mortality.intercept) });
  });
  afterEach(() => api.close());
  afterAll(() => engine.close());

  const call = async (procedure: string, body: unknown, key?: string, tag?: string): Promise<Answer> => {
    const [v2] = api.edges;
    const headers = { ...(key === undefined ? {} : { "idempotency-key": key }), ...(tag === undefined ? {} : { "if-match": tag }) };
    return (await v2?.call(procedure, body, api.rootKey, { headers })) ?? expect.unreachable();
  };

  /** The same until the store is well again. A dead run's lease has run out by then. */
  const repeat = async (procedure: string, body: unknown, key: string, tag?: string): Promise<Record<string, unknown>> => {
    for (let attempt = 0; attempt < 100; attempt++) {
      clock.advance(6_000);
      const answer = await call(procedure, body, key, tag);
      if (answer.status !== 503) return dataOf(answer);
      await sleep(10);
    }
    return expect.unreachable("the store does not come back");
  };

  /** Live objects by collection, and the names of all events. */
  const contents = async (): Promise<{ counts: number[]; events: Map<string, string> }> => {
    const names = ["apis", "keys", "identities", "permissions", "roles", "rootKeys", "overrides"] as const;
    const living = new Set(
      (
        await api.store
          .collection("apis")
          .find({ deletedAt: { $exists: false } })
          .toArray()
      ).map(({ _id }) => _id),
    );
    const counts = await Promise.all(
      names.map(async (name) => {
        const found = await api.store
          .collection(name as "apis")
          .find({ deletedAt: { $exists: false } })
          .toArray();
        // Keys of a deleted API go when they are swept, whenever that is.
        return found.filter((document) => name !== "keys" || living.has((document as unknown as KeyDocument).apiId)).length;
      }),
    );
    return { counts, events: new Map((await eventsIn(api.store)).map(({ id, event }) => [id, event])) };
  };

  /** Objects that the procedure has something to do with. */
  const prepare = async (procedure: string): Promise<Objects> => {
    const objects = await createObjects(async (name, body) => dataOf(await call(name, body)), [procedure]);
    const { keyId, role, permission } = objects;
    if (keyId === nothing.keyId) return objects;
    dataOf(await call("keys.updateKey", { keyId, roles: [role], permissions: [permission], credits: { remaining: 10 } }));
    return objects;
  };

  /** Makes a call that dies after so many writes, repeats it, and says what has changed. */
  const run = async (procedure: string, writes: number, conditional = false) => {
    const objects = await prepare(procedure);
    const body = manyWritesOf(procedure, procedure === "keys.addRoles" ? { ...objects, role: await otherRole() } : objects);
    const before = await contents();
    const key = unique("key");
    const tag = conditional ? await tagFor(procedure, objects) : undefined;
    mortality.dieAfter(writes);
    await call(procedure, body, key, tag);
    const died = mortality.revive();
    const data = await repeat(procedure, body, key, tag);
    expect(await repeat(procedure, body, key, tag)).toEqual(data);
    const after = await contents();
    const events = [...after.events].filter(([id]) => !before.events.has(id)).map(([, event]) => event);
    return {
      died,
      data,
      objects,
      changed: { counts: after.counts.map((count, i) => count - (before.counts[i] ?? 0)), events: events.sort() },
    };
  };
  /** The tag of what the procedure changes. */
  const tagFor = async (procedure: string, objects: Objects): Promise<string> => {
    const find = async (name: CollectionName, filter: object): Promise<RevisedObject> =>
      (await api.store.collection(name as "apis").findOne(filter)) ?? expect.unreachable(`nothing in ${name} to change`);
    const { apiId, identity, keyId, permission, role, rootKeyId, namespace } = objects;
    const found: Readonly<Record<string, () => Promise<RevisedObject>>> = {
      api: () => find("apis", { _id: apiId }),
      identity: () => find("identities", { workspaceId: WORKSPACE_ID, externalId: identity }),
      key: () => find("keys", { _id: keyId }),
      permission: () => find("permissions", { workspaceId: WORKSPACE_ID, slugKey: permission }),
      role: () => find("roles", { workspaceId: WORKSPACE_ID, nameKey: role }),
      "root key": () => find("rootKeys", { _id: rootKeyId }),
      override: async () => {
        const { _id: namespaceId } = await find("namespaces", { workspaceId: WORKSPACE_ID, name: namespace });
        return find("overrides", { workspaceId: WORKSPACE_ID, namespaceId, identifier: "user_1" });
      },
    };
    return tagOf(await (found[asking.get(procedure) ?? ""]?.() ?? expect.unreachable(`nothing that ${procedure} changes has a revision`)));
  };
  const otherRole = async (): Promise<string> => {
    const name = unique("role");
    dataOf(await call("permissions.createRole", { name }));
    return name;
  };

  // Every write takes its time on a server; the writes themselves are the same.
  const sample = ["keys.createKey", "keys.rerollKey", "keys.migrateKeys", "permissions.createRole", "rootKeys.updateKey"];
  test.each(engine.name === "embedded" ? sized(writingMost, changing) : changing.filter((name) => sample.includes(name)))(
    "[protocol §2] %s that died after any of its writes is finished by its repeat, once",
    async (procedure) => {
      const undisturbed = await run(procedure, Number.POSITIVE_INFINITY);
      expect(undisturbed.died).toBe(false);
      expect(undisturbed.changed.events).not.toEqual([]);
      for (let writes = 1; ; writes++) {
        const { died, data, objects, changed } = await run(procedure, writes);
        expect({ writes, ...changed }).toEqual({ writes, ...undisturbed.changed });
        expect(Object.keys(data)).toEqual(Object.keys(undisturbed.data));
        if (procedure === "keys.updateCredits") {
          expect(data).toEqual({ remaining: 15 });
          expect(dataOf(await call("keys.getKey", { keyId: objects.keyId }))).toMatchObject({ credits: { remaining: 15 } });
        }
        if (procedure === "keys.createKey" || procedure === "keys.rerollKey") {
          expect(dataOf(await call("keys.verifyKey", { key: data.key }))).toMatchObject({ valid: true, keyId: data.keyId });
        }
        if (!died) {
          // The reservation, the change and its answer at least.
          expect(writes).toBeGreaterThan(3);
          break;
        }
      }
    },
  );

  const conditional = [...asking.keys()];
  const conditionalSample = conditional.filter((name) => sample.includes(name));
  test.each(engine.name === "embedded" ? sized(conditionalSample, conditional) : conditionalSample)(
    "[management §2] %s under If-Match that died after any of its writes is finished by its repeat, whatever the revision is by then",
    async (procedure) => {
      const undisturbed = await run(procedure, Number.POSITIVE_INFINITY, true);
      for (let writes = 1; ; writes++) {
        const { died, changed } = await run(procedure, writes, true);
        expect({ writes, ...changed }).toEqual({ writes, ...undisturbed.changed });
        if (!died) break;
      }
    },
  );
});
