import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, dataOf, expectError, startApi } from "../support/api.ts";
import { v2Edge } from "../support/edges.ts";
import { type FaultyStore, faultyStore } from "../support/faultyStore.ts";
import { prefixedKey, registerMigration, SEAM } from "../support/migrations.ts";
import { engines } from "../support/stores.ts";
import { createTestClock } from "../support/testClock.ts";

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  let store: FaultyStore;
  let migrationId = "";
  let apiId = "";
  // Stands still, so that what is cached stays so for as long as a test takes.
  const clock = createTestClock();
  beforeAll(async () => {
    store = faultyStore(await engine.open());
    api = await startApi(engine, { store, clock });
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
    const { key } = prefixedKey();
    await verify(key);
    const before = store.calls();
    for (let i = 0; i < 100; i++) expect(dataOf(await verify(key))).toEqual({ valid: false, code: "NOT_FOUND" });
    // A few are those of background tasks.
    expect(store.calls() - before).toBeLessThan(20);
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
});
