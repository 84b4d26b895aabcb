import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import { v2Edge } from "../../../bench/harness/v2Edge.ts";
import { StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { createLeasesRepository } from "../../../src/platform/storage/repositories/leasesRepository.ts";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { background } from "../../support/changing.ts";
import { request } from "../../support/envelope.ts";
import { type FaultyStore, faultyStore } from "../../support/faultyStore.ts";
import { plainKey, prefixedKey, registerMigration, SEAM } from "../../support/migrations.ts";
import { sized } from "../../support/sized.ts";
import { engines } from "../../support/stores.ts";
import { createTestClock } from "../../support/testClock.ts";

/** A store that can lose the answer to the next insert of several keys: they are stored, but the caller gets no answer. */
const forgetfulStore = (inner: Store): Store & { readonly loseNextAnswer: () => void } => {
  let lose = false;
  return {
    ...inner,
    collection: (name) => {
      const collection = inner.collection(name);
      if (name !== "keys") return collection;
      return {
        ...collection,
        insertMany: async (documents, options) => {
          await collection.insertMany(documents, options);
          if (!lose) return;
          lose = false;
          throw new StoreUnavailableError("the answer was lost", { outcomeUnknown: true });
        },
      };
    },
    loseNextAnswer: () => {
      lose = true;
    },
  };
};

const DAY = 86_400_000;
/** Later than both the test's clock and the machine's. */
const FAR = createTestClock().now();

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  let forgetful: ReturnType<typeof forgetfulStore>;
  let store: FaultyStore;
  let migrationId = "";
  let apiId = "";
  beforeAll(async () => {
    forgetful = forgetfulStore(await engine.open());
    store = faultyStore(forgetful);
    api = await startApi(engine, { store });
    migrationId = await registerMigration(api.store, SEAM);
    apiId = dataOf(await call("apis.createApi", { name: "imports" })).apiId as string;
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });
  const call = (procedure: string, body: object) => v2Edge(api.url).call(procedure, body, api.rootKey);
  const verify = (key: string) => call("keys.verifyKey", { key, migrationId });

  test("[verify §12] a flood of one unknown key, sent with a migrationId, costs the store next to nothing", async () => {
    // The clock is stopped, so that cached entries stay fresh throughout the test.
    let calls = 0;
    const inner = await engine.open();
    // Another holder has these leases, so that no background read disturbs the count, however long the test takes.
    const leases = createLeasesRepository(inner);
    for (const work of ["audit", "sweep", "backfill"]) await leases.acquire(work, "this test", FAR, DAY);
    const counted = interceptStore(inner, (operation, { collection }) => {
      if (!background.includes(collection)) calls++;
      return operation();
    });
    const node = await startApi(engine, { store: counted, clock: createTestClock() });
    const body = { key: prefixedKey().key, migrationId: await registerMigration(counted, SEAM) };
    const flood = () => v2Edge(node.url).call("keys.verifyKey", body, node.rootKey);
    await flood();
    const before = calls;
    for (let i = 0; i < 100; i++) expect(dataOf(await flood())).toEqual({ valid: false, code: "NOT_FOUND" });
    expect(calls - before).toBeLessThan(20);
    await node.close();
  });

  test("[verify §12] a key that was unknown is found as soon as it is imported", async () => {
    const { key, hash } = prefixedKey();
    expect(dataOf(await verify(key))).toEqual({ valid: false, code: "NOT_FOUND" });
    dataOf(await call("keys.migrateKeys", { apiId, migrationId, keys: [{ hash }] }));
    expect(dataOf(await verify(key))).toMatchObject({ valid: true });
  });

  test("[protocol §2] a first use that the store fails is 503; repeated, it takes the key over", async () => {
    const { key, hash } = prefixedKey();
    dataOf(await call("keys.migrateKeys", { apiId, migrationId, keys: [{ hash }] }));
    store.behave("fails");
    expectError(await verify(key), 503, "unkey/application/service_unavailable");
    store.behave("well");
    await expect.poll(async () => (await verify(key)).status).toBe(200);
    expect(dataOf(await verify(key))).toMatchObject({ valid: true });
  });

  test("[protocol §2] an import whose answer was lost is finished by its repeat with the same Idempotency-Key", async () => {
    const items = Array.from({ length: 700 }, () => ({ hash: plainKey().hash, externalId: "owner" }));
    const headers = { "idempotency-key": "one import" };
    const importAll = () =>
      request(api.url, "keys.migrateKeys", { rootKey: api.rootKey, headers, body: { apiId, migrationId, keys: items } });
    forgetful.loseNextAnswer();
    expectError(await importAll(), 503, "unkey/application/service_unavailable");
    await expect.poll(async () => (await importAll()).status, { timeout: 30_000 }).toBe(200);
    const data = dataOf(await importAll()) as { migrated: { hash: string; keyId: string }[]; failed: string[] };
    expect(data.failed).toEqual([]);
    expect(data.migrated.map(({ hash }) => hash)).toEqual(items.map(({ hash }) => hash));
    const stored = await api.store
      .collection("keys")
      .find({ hash: { $in: items.map(({ hash }) => hash) } })
      .toArray();
    expect(new Map(stored.map(({ hash, _id }) => [hash, _id]))).toEqual(new Map(data.migrated.map(({ hash, keyId }) => [hash, keyId])));
  });

  test("[keys §7] keys with a thousand permissions each are imported while others are served", async () => {
    const permissions = Array.from({ length: 1_000 }, (_, i) => `many.${i}`);
    const { key } = dataOf(await call("keys.createKey", { apiId }));
    const items = Array.from({ length: sized(15, 40) }, () => ({ hash: plainKey().hash, permissions }));
    const importing = call("keys.migrateKeys", { apiId, migrationId, keys: items });
    let finished = false;
    void importing.finally(() => {
      finished = true;
    });
    while (!finished) expect(await call("keys.verifyKey", { key })).toMatchObject({ status: 200 });
    const { migrated } = dataOf(await importing) as { migrated: { keyId: string }[] };
    expect(migrated).toHaveLength(items.length);
    const shown = dataOf(await call("keys.getKey", { keyId: migrated.at(-1)?.keyId }));
    expect(shown.permissions).toEqual([...permissions].sort());
  });
});
