import { type Db, type Document, MongoClient } from "mongodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { rowsOfCollectionsWith } from "../../src/platform/storage/mongo/mongoCollectionsWith.ts";
import { openMongoStore } from "../../src/platform/storage/mongo/openMongoStore.ts";
import { auditedCollections } from "../../src/platform/storage/port/auditedCollections.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { CollectionName } from "../../src/platform/storage/port/documents.ts";
import { indexes, retired } from "../../src/platform/storage/port/indexes.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { newDocument } from "../../src/platform/storage/repositories/shared/audited.ts";
import { sampleKey } from "./contract/samples.ts";

const { MONGODB_URL: server } = process.env;

describe.skipIf(!server)("indexes on a MongoDB server", () => {
  const url = freshMongoUrl(server ?? "mongodb://none");
  const client = new MongoClient(url);
  let database: Db;
  let store: Store;

  beforeAll(async () => {
    database = client.db(new URL(url).pathname.slice(1));
    store = openMongoStore({ url });
    await store.prepare();
    const [dead, alive] = [{ deletedAt: 1 }, {}].map((fields) =>
      Array.from({ length: 3_000 }, () => sampleKey({ apiId: "api_1", identityId: "id_1", ...fields })),
    );
    await store.collection("keys").insertMany([...(dead ?? []), ...(alive ?? [])].slice(0, 3_100));
    const overrides = Array.from({ length: 1_000 }, (_, i) => ({
      ...newDocument(`rlor_${i}`, 1, []),
      ...{ namespaceId: "rlns_1", limit: 1, duration: 1 },
      ...(i < 900 ? { deletedAt: 1 } : { identifier: `${i}` }),
    }));
    await store.collection("overrides").insertMany(overrides);
    for (const [collection, prefix] of [
      ["apis", "api"],
      ["namespaces", "rlns"],
    ] as const) {
      await store.collection(collection).insertMany(
        Array.from({ length: 1_000 }, (_, i) => ({
          ...newDocument(`${prefix}_${i}`, 1, []),
          name: `name ${i}`,
          ...(i < 900 ? { deletedAt: 1 } : {}),
        })),
      );
    }
    const row = { v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, offsets: [1] };
    await store.collection("auditIndex").insertMany(Array.from({ length: 10 }, (_, i) => ({ _id: `a${i}`, ...row })));
  });
  afterAll(async () => {
    await store.close();
    await client.close();
    await dropMongoDatabase(url);
  });

  const namesOf = async (collection: CollectionName): Promise<(string | undefined)[]> =>
    (await database.collection(collection).indexes()).map(({ name }) => name).filter((name) => name !== "_id_");

  /** The names of the indexes in a plan, and their bounds, however the server spells them. */
  const planOf = async (collection: CollectionName, filter: Document, sort: Record<string, 1 | -1> = {}): Promise<string> =>
    JSON.stringify(await database.collection(collection).find(filter, { sort, limit: 101 }).explain("queryPlanner"));

  test("those that others took the place of are dropped at the next start", async () => {
    for (const { collection, name } of retired) await database.collection(collection).createIndex({ [name]: 1 }, { name });
    const next = openMongoStore({ url });
    await Promise.all([store.prepare(), next.prepare()]);
    await next.close();
    for (const collection of new Set(indexes.map((index) => index.collection))) {
      const declared = indexes.filter((index) => index.collection === collection).map(({ name }) => name);
      expect((await namesOf(collection)).sort(), collection).toEqual(declared.sort());
    }
  });

  const live = { deletedAt: { $exists: false } } as const;
  /** MongoDB: `"deletedAt":["[null, null]"]`; FerretDB: `\"deletedAt\": (MinKey, null]`. */
  const knowsDeleted = /deletedAt\\*"(?::\["\[null, null\]"|: \(MinKey, null\])/;
  test.each([
    ["keys", "liveOfApi", { workspaceId: WORKSPACE_ID, apiId: "api_1", ...live }],
    ["keys", "liveOfIdentity", { workspaceId: WORKSPACE_ID, identityId: "id_1", apiId: "api_1", ...live }],
    ["overrides", "liveOfNamespace", { workspaceId: WORKSPACE_ID, namespaceId: "rlns_1", ...live }],
  ] as const)("a page of %s is found by %s, which knows what is deleted", async (collection, index, filter) => {
    const plan = await planOf(collection, filter, { _id: 1 });
    expect(plan).toContain(`"${index}"`);
    expect(plan).toMatch(knowsDeleted);
  });

  test.each(["apis", "namespaces"] as const)(
    "[management §2] a page of %s that starts with the newest is found by an index",
    async (name) => {
      const ids = Array.from({ length: 1_000 }, (_, i) => `${name === "apis" ? "api" : "rlns"}_${i}`);
      for (const _id of [undefined, { $lte: "s" }, { $in: ids }, { $in: ids, $lt: "s" }]) {
        const plan = await planOf(name, { ...(_id && { _id }), ...live }, { _id: -1 });
        const isListed = _id !== undefined && "$in" in _id;
        expect(plan).toMatch(isListed ? /"live"|"_id_"/ : /"live"/);
        if (!isListed) expect(plan).toMatch(knowsDeleted);
        // MongoDB and FerretDB. Only FerretDB sorts what the index found.
        const { winningPlan } = (JSON.parse(plan) as { queryPlanner: { winningPlan?: object } }).queryPlanner;
        expect(JSON.stringify(winningPlan ?? {})).not.toContain('"SORT"');
        expect(plan).not.toMatch(/"COLLSCAN"|"Seq Scan"/);
      }
    },
  );
  const ofApi = { workspaceId: WORKSPACE_ID, apiId: "api_1", ...live };
  test.each([
    ["keys", "startOfApi", { ...ofApi, start: { $gte: "a", $lt: "b" } }, { start: 1, _id: 1 }],
    ["keys", "startOfApi", { ...ofApi, start: "a", _id: { $gt: "k" } }, { start: 1, _id: 1 }],
    ["keys", "nameOfApi", { ...ofApi, nameKey: { $gte: "a", $lt: "b" } }, { nameKey: 1, _id: 1 }],
    ["keys", "nameOfApi", { ...ofApi, nameKey: "a", _id: { $gt: "k" } }, { nameKey: 1, _id: 1 }],
    ["keys", "lastFourOfApi", { ...ofApi, lastFour: "abcd", _id: { $gt: "k" } }, { lastFour: 1, _id: 1 }],
    ["keys", "liveOfIdentity", { ...ofApi, identityId: { $in: ["a", "b"] }, apiId: { $in: ["api_1", "api_2"] } }, {}],
    ["identities", "externalKey", { workspaceId: WORKSPACE_ID, externalKey: { $gte: "a", $lt: "b" }, ...live }, { externalKey: 1, _id: 1 }],
  ] as const)("[management §2] a way of finding %s reads a range of %s", async (collection, index, filter, sort) => {
    expect(await planOf(collection, filter, sort)).toContain(`"${index}"`);
  });

  test("pending outboxes are found by an index", async () => {
    const [first, ...others] = auditedCollections;
    const rows = rowsOfCollectionsWith("pendingMark", first, others);
    const plan = JSON.stringify(await database.collection(first).aggregate(rows).explain("queryPlanner"));
    expect((plan.match(/"pending"/g) ?? []).length).toBeGreaterThanOrEqual(auditedCollections.length);
    expect(plan).not.toMatch(/"COLLSCAN"|"Seq Scan"/);
  });

  test("[management §3] counters of a namespace come from a range of ids", async () => {
    const range = { _id: { $gt: "namespace:rlns_1:1000:user", $lt: "namespace:rlns_1:1000:uses" } };
    const plan = await planOf("counters", range, { _id: 1 });
    expect(plan).toContain("_id_");
    expect(plan).not.toMatch(/COLLSCAN|"stage":"SORT"/);
  });

  test("[management §4] entries of the audit log that a filter finds come from ranges of ids and numbers", async () => {
    const byNumber = await planOf("audit", { workspaceId: WORKSPACE_ID, sequence: { $in: [5, 6] } }, { sequence: 1 });
    expect(byNumber).toContain('"sequence"');
    const byTerm = await planOf("auditIndex", { _id: { $gte: "a1", $lte: "a2" } }, { _id: 1 });
    expect(byTerm).toContain("_id_");
    for (const plan of [byNumber, byTerm]) expect(plan).not.toMatch(/COLLSCAN|"stage":"SORT"/);
  });
});
