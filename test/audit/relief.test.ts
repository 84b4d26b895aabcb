import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import type { AuditEvent } from "../../src/platform/storage/port/auditEvents.ts";
import type { AuditedCollection } from "../../src/platform/storage/port/auditedCollections.ts";
import type { ApiDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { withEvents } from "../../src/platform/storage/repositories/shared/audited.ts";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { engines } from "../support/stores.ts";

/** More than wait in a document before it is changed further. */
const MANY = 600;

describe.each(engines)("events that pile up on $name", (engine) => {
  let store: Store;
  let api: Api;
  /** Nothing reaches the log. */
  let blocked = false;
  /** Looked-up fields and values of permissions and roles. */
  const lookUps: { readonly field: string; readonly asked: string }[] = [];
  const noteLookUps = (inner: Store): Store => ({
    ...inner,
    collection: (name) => {
      const collection = inner.collection(name);
      return {
        ...collection,
        find: (filter, options) => {
          if (name === "permissions" || name === "roles") {
            const fields = Object.keys(filter).filter((field) => ["_id", "slugKey", "nameKey"].includes(field));
            lookUps.push(...fields.map((field) => ({ field, asked: JSON.stringify(filter) })));
          }
          return collection.find(filter, options);
        },
      };
    },
  });
  beforeAll(async () => {
    store = await engine.open();
    const intercepted = interceptStore(store, (operation, { collection, name }) => {
      if (blocked && collection === "audit" && name === "insertMany") throw new Error("full");
      return operation();
    });
    api = await startApi(engine, {
      store: noteLookUps(intercepted),
      env: { ENCRYPTION_KEYS: `first:${Buffer.alloc(32, 7).toString("base64")}` },
    });
  });
  afterEach(() => {
    blocked = false;
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const call = (procedure: string, body: object): Promise<Answer> =>
    api.edges[0]?.call(procedure, body, api.rootKey) ?? expect.unreachable();
  const data = async (procedure: string, body: object) => dataOf(await call(procedure, body));
  const outboxOf = async (collection: AuditedCollection, id: string): Promise<readonly AuditEvent[]> =>
    (await store.collection(collection as "apis").findOne({ _id: id }))?.outbox ?? [];

  /** As if so many changes had been made while the log could not be written. */
  const pileUp = async (collection: AuditedCollection, id: string): Promise<void> => {
    const events = Array.from(
      { length: MANY },
      (_, i): AuditEvent => ({
        id: `log_${id}_${i}`,
        event: "key.update",
        time: 1,
        actor: { type: "system", id: "system" },
        display: "",
        resources: [],
        correlationId: "cor_1",
      }),
    );
    await store.collection(collection as "apis").updateOne({ _id: id }, withEvents<ApiDocument>({}, events));
  };

  const makeKey = async (): Promise<string> => {
    const { apiId } = await data("apis.createApi", { name: "relief" });
    return (await data("keys.createKey", { apiId, recoverable: true })).keyId as string;
  };
  const changes: readonly (readonly [string, AuditedCollection, () => Promise<{ id: string; change: () => Promise<Answer> }>])[] = [
    [
      "keys.getKey that decrypts",
      "keys",
      async () => {
        const keyId = await makeKey();
        return { id: keyId, change: () => call("keys.getKey", { keyId, decrypt: true }) };
      },
    ],
    [
      "keys.updateKey",
      "keys",
      async () => {
        const keyId = await makeKey();
        return { id: keyId, change: () => call("keys.updateKey", { keyId, name: "x" }) };
      },
    ],
    [
      "permissions.updatePermission",
      "permissions",
      async () => {
        const { permissionId: id } = (await data("permissions.createPermission", { name: "n", slug: "relief" })) as {
          permissionId: string;
        };
        return { id, change: () => call("permissions.updatePermission", { permission: id, name: "x" }) };
      },
    ],
    [
      "rootKeys.updateKey",
      "rootKeys",
      async () => {
        const { keyId: id } = (await data("rootKeys.createKey", { permissions: ["api.*.read_api"] })) as { keyId: string };
        return { id, change: () => call("rootKeys.updateKey", { keyId: id, name: "x" }) };
      },
    ],
    [
      "ratelimit.setOverride",
      "overrides",
      async () => {
        const override = { namespace: "relief", identifier: "user", limit: 5, duration: 60_000 };
        await data("ratelimit.limit", override);
        const { overrideId: id } = (await data("ratelimit.setOverride", override)) as { overrideId: string };
        return { id, change: () => call("ratelimit.setOverride", { ...override, limit: 6 }) };
      },
    ],
  ];

  test("[protocol §11] changes and decryptions wait until they have been moved, so that no document outgrows the store", async () => {
    const prepared = await Promise.all(changes.map(async ([name, collection, prepare]) => ({ name, collection, ...(await prepare()) })));
    blocked = true;
    await Promise.all(prepared.map(({ collection, id }) => pileUp(collection, id)));
    const done: string[] = [];
    const running = Promise.all(
      prepared.map(async ({ name, change }) => {
        const answer = await change();
        done.push(name);
        return { name, status: answer.status };
      }),
    );
    // Each has asked for room at least once by then, in vain.
    for (let round = 0; round < 20; round++) {
      for (const { collection, id } of prepared) expect(await outboxOf(collection, id)).not.toHaveLength(0);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(done).toEqual([]);
    blocked = false;
    expect(await running).toEqual(prepared.map(({ name }) => ({ name, status: 200 })));
    for (const { collection, id } of prepared) expect((await outboxOf(collection, id)).length).toBeLessThanOrEqual(MANY);
  });

  test.each([
    ["permission", "slugKey", "permissions.createPermission", "permissions.getPermission", { slug: "looked.up" }],
    ["role", "nameKey", "permissions.createRole", "permissions.getRole", {}],
  ])("[permissions §1] a %s is looked up with one read, by its id or its %s", async (field, byName, create, get, fields) => {
    const made = await data(create, { name: "looked.up", ...fields });
    const id = made[`${field}Id`] as string;
    // The mover reads the object too: wait until it has moved the event.
    await expect.poll(() => outboxOf(field === "role" ? "roles" : "permissions", id)).toEqual([]);
    for (const [text, by] of [
      [id, "_id"],
      ["looked.up", byName],
    ] as const) {
      lookUps.length = 0;
      await data(get, { [field as string]: text });
      const own = lookUps.filter(({ asked }) => asked.includes(id) || asked.includes("looked.up"));
      expect(own.map((each) => each.field)).toEqual([by]);
    }
  });
});
