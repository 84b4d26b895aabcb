import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer, Edge } from "../../../bench/harness/v2Edge.ts";
import { tagOf } from "../../../src/platform/base/revisions.ts";
import { DuplicateKeyError, StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { background } from "../../support/changing.ts";
import { engines } from "../../support/stores.ts";
import { eventsBy } from "../../support/written.ts";

type When = "before it is done" | "after it was done";

/** A store that fails the n-th write of an audited change, once. Background writes, such as those of the audit log, do not count. */
const failingStore = (store: Store) => {
  let left = Number.POSITIVE_INFINITY;
  let when: When = "before it is done";
  let collisions = 0;
  const write = async <T>(operation: () => Promise<T>): Promise<T> => {
    if (--left !== 0) return operation();
    if (when === "after it was done") await operation();
    throw new StoreUnavailableError("the connection broke", { outcomeUnknown: true });
  };
  const carriesEvents = (update: object): boolean => "outbox" in ((update as { $push?: object }).$push ?? {});
  const failing: Store = {
    ...store,
    collection: (name) => {
      const inner = store.collection(name);
      return {
        ...inner,
        insertOne: (document, options) => {
          if (name === "keys" && collisions-- > 0) return Promise.reject(new DuplicateKeyError(collisions % 2 ? "hash" : "_id"));
          return background.includes(name) ? inner.insertOne(document, options) : write(() => inner.insertOne(document, options));
        },
        updateOne: (filter, update, options) => {
          const operation = () => inner.updateOne(filter, update, options);
          return carriesEvents(update) ? write(operation) : operation();
        },
        findOneAndUpdate: (filter, update, options) => {
          const operation = () => inner.findOneAndUpdate(filter, update, options);
          return carriesEvents(update) ? write(operation) : operation();
        },
      };
    },
  };
  return {
    store: failing,
    /** The next keys that are stored have an id or a hash that is taken. */
    collide: (times: number): void => {
      collisions = times;
    },
    /** True when the write was reached. */
    fail: async (nth: number, how: When, call: () => Promise<void>): Promise<boolean> => {
      [left, when] = [nth, how];
      await call();
      const reached = left <= 0;
      left = Number.POSITIVE_INFINITY;
      return reached;
    },
  };
};

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  let faults: ReturnType<typeof failingStore>;
  beforeAll(async () => {
    faults = failingStore(await engine.open());
    api = await startApi(engine, { store: faults.store });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  let counter = 0;
  const unique = (stem: string): string => `${stem}-${++counter}`;
  const call = (procedure: string, body: unknown, rootKey = api.rootKey): Promise<Answer> =>
    (api.edges[0] as Edge).call(procedure, body, rootKey);
  const data = async (procedure: string, body: unknown): Promise<Record<string, unknown>> => dataOf(await call(procedure, body));
  const storeIsBack = (): Promise<void> => expect.poll(async () => (await call("apis.getApi", { apiId: "api_unknown" })).status).toBe(404);

  /**
   * Breaks every write of a call in turn. `prepare` makes a call and says how to look at its object afterwards:
   * undefined when it is as before, else the names of the events that its complete change must have.
   */
  const everyWriteBreaks = async (
    when: When,
    prepare: () => Promise<{
      procedure: string;
      body: object;
      changed: () => Promise<readonly string[] | undefined>;
      again: readonly number[];
    }>,
  ): Promise<void> => {
    for (let nth = 1; nth < 20; nth++) {
      const { procedure, body, changed, again } = await prepare();
      const name = unique("caller");
      const rootKey = await api.createRootKey({ name });
      let answer: Answer | undefined;
      const reached = await faults.fail(nth, when, async () => {
        answer = await call(procedure, body, rootKey);
      });
      expect(answer?.status).toBe(reached ? 503 : 200);
      await storeIsBack();
      const expected = await changed();
      const own = ["key.create", "key.update", "key.delete", "role.create"];
      const events = (await eventsBy(api.store, name))
        .map(({ event }) => event)
        .filter((event) => own.includes(event) || event.startsWith("auth"));
      expect(events.sort()).toEqual(expected ?? []);
      if (!reached) {
        expect(expected).toBeDefined();
        expect(nth).toBeGreaterThan(1);
        return;
      }
      expect(again).toContain((await call(procedure, body, rootKey)).status);
      expect(await changed()).toBeDefined();
    }
    expect.unreachable("a call with 20 writes");
  };

  test("[keys §1.1] a taken id or secret is generated again, and the call succeeds", async () => {
    const { apiId } = await data("apis.createApi", { name: "collisions" });
    faults.collide(4);
    const { keyId, key } = await data("keys.createKey", { apiId, permissions: [unique("once")] });
    expect(await data("keys.verifyKey", { key })).toMatchObject({ valid: true, keyId });
    expect(
      await api.store
        .collection("keys")
        .find({ apiId: apiId as string })
        .toArray(),
    ).toHaveLength(1);
  });

  test("[keys §1.1] a reroll under If-Match whose new id or secret is taken succeeds, too", async () => {
    const { apiId } = await data("apis.createApi", { name: "collisions" });
    const { keyId } = await data("keys.createKey", { apiId });
    const found = (await api.store.collection("keys").findOne({ _id: keyId as string })) ?? expect.unreachable();
    faults.collide(4);
    const headers = { "if-match": tagOf(found) };
    const rerolled = dataOf(await (api.edges[0] as Edge).call("keys.rerollKey", { keyId, expiration: 0 }, api.rootKey, { headers }));
    expect(await data("keys.verifyKey", { key: rerolled.key })).toMatchObject({ valid: true, keyId: rerolled.keyId });
  });

  describe.each<When>(["before it is done", "after it was done"])("a write that fails %s", (when) => {
    test("[protocol §2] leaves a new key wholly made, with its events, or not at all; what was made on the way may stay", async () => {
      await everyWriteBreaks(when, async () => {
        const { apiId } = await data("apis.createApi", { name: "faults" });
        const role = unique("role");
        await data("permissions.createRole", { name: role });
        return {
          procedure: "keys.createKey",
          body: { apiId, name: "made", externalId: unique("user"), permissions: [unique("a"), unique("b")], roles: [role] },
          again: [200],
          changed: async () => {
            const keys = await api.store
              .collection("keys")
              .find({ apiId: apiId as string })
              .toArray();
            for (const key of keys) expect(key).toMatchObject({ name: "made", permissionIds: { length: 2 }, roleIds: { length: 1 } });
            const connects = ["permission", "permission", "role"].map((kind) => `authorization.connect_${kind}_and_key`);
            return keys.length === 0 ? undefined : [...connects, "key.create"];
          },
        };
      });
    });

    test("[protocol §2] leaves a key wholly changed, with its events, or not at all, and the change can be repeated", async () => {
      await everyWriteBreaks(when, async () => {
        const { apiId } = await data("apis.createApi", { name: "faults" });
        const { keyId, key } = await data("keys.createKey", {
          apiId,
          name: "before",
          permissions: [unique("old")],
          credits: { remaining: 5 },
        });
        const before = await data("keys.getKey", { keyId });
        const [slug, externalId] = [unique("new"), unique("user")];
        return {
          procedure: "keys.updateKey",
          body: { keyId, name: "after", permissions: [slug], externalId, credits: { remaining: 7 }, enabled: false },
          again: [200],
          changed: async () => {
            const shown = await data("keys.getKey", { keyId });
            const verified = await data("keys.verifyKey", { key, credits: { cost: 0 } });
            expect(verified.name).toBe(shown.name);
            if (shown.name === "before") {
              expect({ ...shown, lastUsedAt: undefined }).toEqual({ ...before, lastUsedAt: undefined });
              return undefined;
            }
            expect(shown).toMatchObject({
              name: "after",
              permissions: [slug],
              identity: { externalId },
              credits: { remaining: 7 },
              enabled: false,
            });
            return ["authorization.connect_permission_and_key", "authorization.disconnect_permission_and_key", "key.update"];
          },
        };
      });
    });

    test.each([false, true])("[protocol §2] leaves a key deleted, with its event, or not (permanent %s)", async (permanent) => {
      await everyWriteBreaks(when, async () => {
        const { apiId } = await data("apis.createApi", { name: "faults" });
        const { keyId, key } = await data("keys.createKey", { apiId });
        return {
          procedure: "keys.deleteKey",
          body: { keyId, permanent },
          again: when === "before it is done" ? [200] : [404],
          changed: async () => {
            const { status } = await call("keys.getKey", { keyId });
            expect((await data("keys.verifyKey", { key })).code).toBe(status === 404 ? "NOT_FOUND" : "VALID");
            return status === 404 ? ["key.delete"] : undefined;
          },
        };
      });
    });

    test("[protocol §2] leaves a role wholly made, with its events, or not at all", async () => {
      await everyWriteBreaks(when, async () => {
        const role = unique("role");
        return {
          procedure: "permissions.createRole",
          body: { name: role, permissions: [unique("a"), unique("b")] },
          again: [200, 409],
          changed: async () => {
            const { status, body } = await call("permissions.getRole", { role });
            if (status === 404) return undefined;
            expect(body.data).toMatchObject({ name: role, permissions: { length: 2 } });
            return [...Array(2).fill("authorization.connect_role_and_permission"), "role.create"];
          },
        };
      });
    });
  });
});
