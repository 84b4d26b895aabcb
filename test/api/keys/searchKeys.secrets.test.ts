import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import { createId } from "../../../src/platform/base/ids.ts";
import { createKeySecret } from "../../../src/platform/secrets/keySecret.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { request } from "../../support/envelope.ts";
import { engines } from "../../support/stores.ts";

interface Asked {
  readonly collection: string;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly limit: number | undefined;
}

describe.each(engines)("the requests of a search to the store, on $name", (engine) => {
  let api: Api;
  let apiId: string;
  let asked: Asked[] = [];
  beforeAll(async () => {
    const store = interceptStore(await engine.open(), (operation, { collection, filter = {}, limit }) => {
      asked.push({ collection, filter: filter as Asked["filter"], limit });
      return operation();
    });
    api = await startApi(engine, { store });
    apiId = await createApi();
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const call = async (procedure: string, body: object, rootKey = api.rootKey): Promise<Record<string, unknown>> =>
    dataOf(await request(api.url, procedure, { rootKey, body }));
  const createApi = async (): Promise<string> => (await call("apis.createApi", { name: "searched" })).apiId as string;
  const createKey = async (fields: object = {}): Promise<{ keyId: string; key: string }> =>
    (await call("keys.createKey", { apiId, ...fields })) as { keyId: string; key: string };

  /** Searches, and returns the found keys; it records the operations on the store, without those of the background. */
  const search = async (query: string, more: object = {}, rootKey?: string): Promise<readonly string[]> => {
    asked = [];
    const data = (await call("keys.searchKeys", { query, ...more }, rootKey)) as unknown as readonly { readonly keyId: string }[];
    asked = asked.filter(({ collection }) => collection === "keys" || collection === "identities");
    return data.map(({ keyId }) => keyId);
  };
  const isTold = (text: string): boolean => JSON.stringify(asked).toLowerCase().includes(text.toLowerCase());
  /** The fields that were searched by a range of texts. */
  const ranges = (): readonly string[] =>
    ["start", "nameKey", "externalKey", "lastFour"].filter((field) => asked.some(({ filter }) => field in filter));

  test("[management §2] a query that is the secret of a key reaches the store as its hash alone", async () => {
    const { keyId, key } = await createKey({ prefix: "told" });
    const around = [` ${key}\n`, `Bearer ${key}`, `"${key}"`, `{"key": '${key}'}`, `KEY=${key}`, `“${key}”,`];
    for (const query of [key, ...around]) {
      expect(await search(query)).toEqual(query === key ? [keyId] : []);
      expect(isTold(key)).toBe(false);
      expect(ranges()).toEqual([]);
    }
  });

  test("[management §2] also of one in an API that the caller may not see, of a deleted key, and of a root key", async () => {
    const other = await createApi();
    const rootKey = await api.createRootKey({ permissions: [`api.${other}.read_key`, `api.${other}.read_api`] });
    const [hidden, deleted] = [await createKey(), await createKey()];
    await call("keys.deleteKey", { keyId: deleted.keyId });
    for (const [secret, caller] of [
      [hidden.key, rootKey],
      [deleted.key, api.rootKey],
      [deleted.key, rootKey],
      [rootKey, api.rootKey],
      [await api.createRootKey({}), rootKey],
    ] as const) {
      for (const query of [secret, `Bearer ${secret}`, `'${secret}'`]) {
        expect(await search(query, {}, caller)).toEqual([]);
        expect(isTold(secret)).toBe(false);
        expect(ranges()).toEqual([]);
      }
    }
  });

  test("[management §2] also of a key that waits for its migration, or was taken over by it", async () => {
    const { migrationId } = await call("migrations.createMigration", { algorithm: "github.com/seamapi/prefixed-api-key" });
    const long = createKeySecret({ byteLength: 16 }).key.reveal();
    const secret = `seam_short_${long}`;
    const hash = createHash("sha256").update(long).digest("hex");
    await call("keys.migrateKeys", { apiId, migrationId, keys: [{ hash, name: "foreign" }] });
    expect([await search(secret), isTold(long), ranges()]).toEqual([[], false, []]);
    expect(await call("keys.verifyKey", { key: secret, migrationId })).toMatchObject({ valid: true });
    expect(await search(secret)).toHaveLength(1);
    expect([isTold(long), ranges()]).toEqual([false, []]);
  });

  test("[management §2] a text that is the secret of no key may be the beginning of a name or externalId, whatever it looks like", async () => {
    const [first, second] = [createKeySecret({ byteLength: 16, prefix: "like" }), createKeySecret({ byteLength: 16 })];
    const { keyId } = await createKey({ name: first.key.reveal() });
    const { keyId: owned } = await createKey({ externalId: second.key.reveal() });
    for (const text of [first.key.reveal(), first.key.reveal().slice(0, -1)]) expect(await search(text)).toEqual([keyId]);
    // It is longer than any start.
    expect(ranges()).toEqual(["nameKey", "externalKey"]);
    for (const text of [second.key.reveal(), second.key.reveal().slice(0, -1)]) expect(await search(text)).toEqual([owned]);
    // Nineteen characters look like no secret.
    await search(`like_${"x".repeat(19)}`);
    expect(ranges()).toContain("start");
  });

  test("[management §2] it is asked for a key by its id only where the query has the form of one", async () => {
    const { keyId } = await createKey();
    const byId = (): boolean => asked.some(({ filter }) => "_id" in filter && typeof filter._id === "string");
    expect([await search(keyId), byId()]).toEqual([[keyId], true]);
    expect([await search(createId("key", Date.now())), byId()]).toEqual([[], true]);
    for (const query of ["key_", "production", keyId.slice(0, -1), `${keyId}1`, keyId.toUpperCase(), `x${keyId}`, createId("api", 5)]) {
      expect([query, await search(query), byId()]).toEqual([query, [], false]);
    }
  });

  test.each([1, 2, 99, 100])("[management §2] each way reads no more than limit + 1 entries of an API, limit %i", async (limit) => {
    const [stem, own] = [`bounds${limit}`, await createApi()];
    for (let i = 0; i < 3; i++) {
      await createKey({ apiId: own, prefix: `${stem}s` });
      await createKey({ apiId: own, name: `${stem} ${i}` });
      await createKey({ apiId: own, externalId: `${stem}.${i}` });
    }
    await search(stem, { apiId: own, limit });
    const read = asked.filter(({ collection, filter }) => collection === "keys" && "workspaceId" in filter && !("hash" in filter));
    for (const { filter, limit: most } of read.filter((each) => !("importedHash" in each.filter)))
      expect([filter, (most ?? Number.POSITIVE_INFINITY) <= limit + 1]).toEqual([filter, true]);
    const ways = read.map(({ filter }) => ["start", "nameKey", "lastFour", "identityId"].find((field) => field in filter));
    expect(new Set(ways).size).toBeGreaterThan(limit > 50 ? 3 : 0);
    expect(read.length).toBeLessThanOrEqual(6);
  });
});
