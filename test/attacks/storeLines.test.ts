import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Behalf } from "../../src/platform/base/behalf.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";

/** By the marks of what is pending, by nothing but ids in a read of what was found so, and by what the metrics look at: all sessions, all root keys. */
const isBackground = (args: readonly unknown[]): boolean => {
  const [filter, update = {}] = args.filter((each) => !Array.isArray(each)).map((each) => JSON.stringify(each));
  return (
    /^\{"_id":\{"\$in":[^}]*\}\}$|"(pendingMark|sweepFrom)":|^\{"(expireAt|_id)":\{"\$gt":/.test(`${filter}`) ||
    `${update}`.startsWith('{"$pull":{"outbox":')
  );
};

/** Reports every operation on a collection, with its caller. */
const overheard = (store: Store, hear: (operation: string, args: readonly unknown[], caller: string | undefined) => void): Store => ({
  ...store,
  collectionsWith: (field, among) => {
    hear("system collectionsWith", [field, among], undefined);
    return store.collectionsWith(field, among);
  },
  collection: (name) =>
    new Proxy(store.collection(name), {
      get: (inner, operation, receiver) => {
        const method: unknown = Reflect.get(inner, operation, receiver);
        if (typeof method !== "function") return method;
        return (...args: unknown[]) => {
          const behalf = args.find((each) => typeof each === "object" && each !== null && "caller" in each) as Behalf | undefined;
          hear(`${name} ${String(operation)}`, args, behalf?.caller?.rootKeyId);
          return method.apply(inner, args);
        };
      },
    }),
});

/**
 * Operations without a caller: the work of the background, look-ups of root keys, whose number is bounded
 * by address, and reads that several callers share.
 */
const NOBODYS = [
  ...["system", "changes", "leases", "audit", "auditIndex", "sweeps", "nodes"].map((collection) => new RegExp(`^${collection} `)),
  /^rootKeys (findOne|insertOne|bulkWrite)$/,
  /^keys bulkWrite$/,
  /^(roles|permissions) find$/,
];

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  const anonymous = new Set<string>();
  const named = new Set<string>();

  beforeAll(async () => {
    const store = overheard(await engine.open(), (operation, args, caller) => {
      if (caller !== undefined) named.add(operation);
      else if (operation.includes("insert") || !isBackground(args)) anonymous.add(operation);
    });
    api = await startApi(engine, { store });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const call = async (procedure: string, body: object, headers: Record<string, string> = {}): Promise<Record<string, unknown>> =>
    dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body, headers: { "content-type": "application/json", ...headers } }));

  test("operations of a call wait in its caller's line", async () => {
    const { apiId } = await call("apis.createApi", { name: "lines" });
    const issued = {
      apiId,
      externalId: "user",
      roles: [],
      permissions: ["a.read"],
      credits: { remaining: 10, refill: { interval: "daily", amount: 5 } },
      ratelimits: [{ name: "calls", limit: 100, duration: 60_000, autoApply: true }],
    };
    const { key, keyId } = await call("keys.createKey", issued, { "Idempotency-Key": "11111111-1111-4111-8111-111111111111" });
    await call("keys.createKey", issued, { "Idempotency-Key": "11111111-1111-4111-8111-111111111111" });
    for (const credits of [{ cost: 1 }, { cost: 100 }]) await call("keys.verifyKey", { key, credits });
    await call("keys.verifyKey", { key: "none", migrationId: "none_a_b" });
    await call("keys.updateKey", { keyId, name: "changed", credits: { remaining: 7 } });
    await call("keys.updateCredits", { keyId, operation: "increment", value: 1 });
    await call("apis.listKeys", { apiId });
    await call("ratelimit.limit", { namespace: "new", identifier: "one", limit: 10, duration: 60_000 });
    await call("ratelimit.setOverride", { namespace: "new", identifier: "two", limit: 10, duration: 60_000 });
    await call("ratelimit.limit", { namespace: "new", identifier: "two", limit: 10, duration: 60_000 });
    await call("rootKeys.createKey", { name: "another", permissions: ["api.*.read_api"] });
    await call("keys.deleteKey", { keyId });
    expect([...anonymous].filter((operation) => !NOBODYS.some((pattern) => pattern.test(operation)))).toEqual([]);
    expect([...named]).toEqual(
      expect.arrayContaining(["keys findOne", "keys findOneAndUpdate", "apis findOne", "identities insertOne", "namespaces findOne"]),
    );
  });
});
