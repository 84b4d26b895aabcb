import { afterAll, describe, expect, test } from "vitest";
import { v2Edge } from "../../../bench/harness/v2Edge.ts";
import type { KeyDocument, RootKeyDocument } from "../../../src/platform/storage/port/documents.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { changeApiIn } from "../../support/changedApis.ts";
import { engines } from "../../support/stores.ts";
import { createTestClock } from "../../support/testClock.ts";

type Call = (procedure: string, body: object, rootKey?: string) => Promise<Record<string, unknown>>;

const callsTo =
  (api: Api): Call =>
  async (procedure, body, rootKey = api.rootKey) =>
    dataOf(await v2Edge(api.url).call(procedure, body, rootKey));

describe.each(engines)("on $name", (engine) => {
  afterAll(() => engine.close());

  const readKeys = async (store: Store): Promise<Map<string, KeyDocument>> => {
    const reader = await engine.openBeside(store);
    return new Map((await reader.collection("keys").find({}).toArray()).map((key) => [key._id, key]));
  };
  const readRootKeys = async (store: Store): Promise<RootKeyDocument[]> => {
    const reader = await engine.openBeside(store);
    return reader.collection("rootKeys").find({}).toArray();
  };

  test("[verify §10] every outcome that shows the key is a use, and a stop writes what is not written yet", async () => {
    const store = await engine.open();
    const clock = createTestClock();
    const api = await startApi(engine, { store, clock });
    const call = callsTo(api);
    const { apiId } = await call("apis.createApi", { name: "outcomes" });
    const { apiId: restricted } = await call("apis.createApi", { name: "restricted" });
    await changeApiIn(store, restricted as string, { ipAllowlist: ["192.0.2.1/32"] });

    const used: [string, unknown][] = [];
    const useKey = async (code: string, fields: object, request: object = {}): Promise<void> => {
      const { keyId, key } = await call("keys.createKey", { apiId, ...fields });
      clock.advance(1_000);
      expect(await call("keys.verifyKey", { key, ...request })).toMatchObject({ code });
      used.push([keyId as string, clock.now()]);
    };
    await useKey("VALID", {});
    await useKey("DISABLED", { enabled: false });
    await useKey("EXPIRED", { expires: 1 });
    await useKey("FORBIDDEN", { apiId: restricted });
    await useKey("INSUFFICIENT_PERMISSIONS", {}, { permissions: "missing" });
    await useKey("RATE_LIMITED", {}, { ratelimits: [{ name: "inline", limit: 1, duration: 1_000, cost: 2 }] });
    await useKey("USAGE_EXCEEDED", { credits: { remaining: 0 } });

    const unused: unknown[] = [];
    const createUnused = async (fields: object = {}): Promise<Record<string, unknown>> => {
      const created = await call("keys.createKey", { apiId, ...fields });
      unused.push(created.keyId);
      return created;
    };
    await createUnused();
    const masked = await createUnused();
    const other = await api.createRootKey({ permissions: [`api.${restricted}.verify_key`] });
    expect(await call("keys.verifyKey", { key: masked.key }, other)).toMatchObject({ code: "NOT_FOUND" });
    const noSuchLimit = await createUnused();
    const { status } = await v2Edge(api.url).call("keys.verifyKey", { key: noSuchLimit.key, ratelimits: [{ name: "none" }] }, api.rootKey);
    expect(status).toBe(412);
    const read = await createUnused();
    await call("keys.getKey", { keyId: read.keyId });
    await call("keys.whoami", { key: read.key });
    await call("keys.updateKey", { keyId: read.keyId, name: "read" });
    const deleted = await createUnused();
    await call("keys.deleteKey", { keyId: deleted.keyId });
    expect(await call("keys.verifyKey", { key: deleted.key })).toMatchObject({ code: "NOT_FOUND" });

    await api.close();
    const keys = await readKeys(store);
    expect(used.map(([id]) => [id, keys.get(id)?.lastUsedAt])).toEqual(used);
    for (const id of unused) expect(keys.get(id as string)).not.toHaveProperty("lastUsedAt");
  });

  test("[verify §10] a use changes nothing else of the key, and revives none that is deleted meanwhile", async () => {
    const store = await engine.open();
    const api = await startApi(engine, { store });
    const call = callsTo(api);
    const { apiId } = await call("apis.createApi", { name: "unchanged" });
    const kept = await call("keys.createKey", { apiId, name: "kept", meta: { a: 1 } });
    const erased = await call("keys.createKey", { apiId });
    for (const { key } of [kept, erased]) await call("keys.verifyKey", { key });
    await call("keys.deleteKey", { keyId: erased.keyId, permanent: true });
    const before = await store.collection("keys").findOne({ _id: kept.keyId as string });
    await api.close();
    const keys = await readKeys(store);
    const { lastUsedAt, outbox: _outbox, pendingMark: _mark, ...after } = keys.get(kept.keyId as string) as KeyDocument;
    const { outbox: _before, pendingMark: _markBefore, lastUsedAt: _used, ...expected } = before as KeyDocument;
    expect(after).toEqual(expected);
    expect(lastUsedAt).toBeGreaterThanOrEqual(after.createdAt);
    const left = keys.get(erased.keyId as string);
    if (left !== undefined) expect(left).toMatchObject({ erased: true });
  });

  test("[keys §1.8] getKey shows it, soon after a verification and not before the first one", async () => {
    const api = await startApi(engine);
    const call = callsTo(api);
    const { apiId } = await call("apis.createApi", { name: "shown" });
    const { keyId, key } = await call("keys.createKey", { apiId });
    expect(await call("keys.getKey", { keyId })).not.toHaveProperty("lastUsedAt");
    const from = Date.now();
    await call("keys.verifyKey", { key });
    const to = Date.now();
    const lastUsedAt = async (): Promise<unknown> => (await call("keys.getKey", { keyId })).lastUsedAt;
    await expect.poll(lastUsedAt, { timeout: 30_000, interval: 250 }).toBeDefined();
    expect(await lastUsedAt()).toBeGreaterThanOrEqual(from);
    expect(await lastUsedAt()).toBeLessThanOrEqual(to);
    expect(await call("keys.getKey", { keyId })).not.toHaveProperty("updatedAt");
    await api.close();
  });

  test("[verify §10] the latest use counts, whichever node writes last", async () => {
    const store = await engine.open();
    const early = createTestClock(1_750_000_000_000);
    const late = createTestClock(1_750_000_100_000);
    const first = await startApi(engine, { store, clock: late });
    const call = callsTo(first);
    const { apiId } = await call("apis.createApi", { name: "nodes" });
    const { keyId, key } = await call("keys.createKey", { apiId });
    const second = await startApi(engine, { store: await engine.openBeside(store), clock: early });
    await callsTo(second)("keys.verifyKey", { key });
    await call("keys.verifyKey", { key });
    await first.close();
    await second.close();
    expect((await readKeys(store)).get(keyId as string)?.lastUsedAt).toBe(late.now());
  });

  test("root keys have it as well: every call that was let in is a use", async () => {
    const store = await engine.open();
    const clock = createTestClock();
    const api = await startApi(engine, { store, clock });
    const call = callsTo(api);
    const reader = await api.createRootKey({ name: "reader", permissions: ["api.*.read_api"] });
    const expired = await api.createRootKey({ name: "expired", expires: clock.now() });
    await api.createRootKey({ name: "unused" });
    clock.advance(5_000);
    await call("apis.createApi", { name: "by the powerful one" });
    clock.advance(5_000);
    const forbidden = await v2Edge(api.url).call("apis.createApi", { name: "refused" }, reader);
    const unauthenticated = await v2Edge(api.url).call("apis.createApi", { name: "refused" }, expired);
    expect([forbidden.status, unauthenticated.status]).toEqual([403, 401]);
    await api.close();
    const times = Object.fromEntries((await readRootKeys(store)).map(({ name, lastUsedAt }) => [name, lastUsedAt]));
    expect(times).toEqual({ test: clock.now() - 5_000, reader: clock.now(), expired: undefined, unused: undefined });
  });
});
