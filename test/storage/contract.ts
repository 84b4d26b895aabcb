import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { newDocument } from "../../src/platform/storage/repositories/shared/audited.ts";
import { SchemaTooNewError } from "../../src/platform/storage/schemaVersion.ts";
import type { Engine } from "../support/stores.ts";
import { testFilters } from "./contract/filters.ts";
import { testGuarantees } from "./contract/guarantees.ts";
import { testRaces } from "./contract/races.ts";
import { sampleKey } from "./contract/samples.ts";
import { testUpdates } from "./contract/updates.ts";

/** The promises of every storage engine: one test per sentence of `collection.ts` and `store.ts`. */
export const testStore = (engine: Engine): void => {
  describe(`the ${engine.name} store`, () => {
    let stores: readonly [Store, Store];
    beforeAll(async () => {
      const store = await engine.open();
      stores = [store, await engine.openBeside(store)];
    });
    afterAll(() => engine.close());

    testFilters(() => stores[0]);
    testUpdates(() => stores[0]);
    testGuarantees(() => stores[0]);
    testRaces(() => stores);

    test("names its engine", () => {
      expect(stores[0].engine).toBe(engine.name);
    });

    test("answers a ping", async () => {
      await stores[0].ping();
      await expect(stores[0].ping(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
    });

    test("names the collections that have a document with a field, of those that it is asked about", async () => {
      const store = await engine.open();
      const all = ["permissions", "roles", "keys"] as const;
      expect(await store.collectionsWith("pendingMark", all)).toEqual([]);
      const pending = sampleKey({ pendingMark: "ev_1" });
      await store.collection("keys").insertMany([sampleKey(), pending, sampleKey({ pendingMark: "ev_2" })]);
      expect(await store.collectionsWith("pendingMark", all)).toEqual(["keys"]);
      await store
        .collection("permissions")
        .insertOne({ ...newDocument("perm_1", 1, []), name: "a", slug: "a", revision: 1, pendingMark: "ev_3" });
      expect(new Set(await store.collectionsWith("pendingMark", all))).toEqual(new Set(["permissions", "keys"]));
      expect(await store.collectionsWith("pendingMark", ["roles", "permissions"])).toEqual(["permissions"]);
      await store.collection("keys").updateOne({ _id: pending._id }, { $unset: { pendingMark: "" } });
      expect(await store.collectionsWith("pendingMark", ["keys"])).toEqual(["keys"]);
      expect(await store.collectionsWith("pendingMark", [])).toEqual([]);
    });

    test("prepares again, also from several at once, and loses nothing", async () => {
      const key = sampleKey();
      await stores[0].collection("keys").insertOne(key);
      await Promise.all([...stores, ...stores].map((store) => store.prepare()));
      expect(await stores[1].collection("keys").findOne({ _id: key._id })).toEqual(key);
      expect(await stores[0].collection("system").findOne({ _id: "schema" })).toEqual({
        _id: "schema",
        v: SCHEMA_VERSION,
        workspaceId: WORKSPACE_ID,
        schema: SCHEMA_VERSION,
      });
    });

    test("raises an older schema version and refuses a newer one", async () => {
      const store = await engine.open();
      const system = store.collection("system");
      await system.updateOne({ _id: "schema" }, { $set: { schema: SCHEMA_VERSION - 1 } });
      await store.prepare();
      expect(await system.findOne({ _id: "schema" })).toMatchObject({ schema: SCHEMA_VERSION });
      await system.updateOne({ _id: "schema" }, { $set: { schema: SCHEMA_VERSION + 1 } });
      await expect(engine.openBeside(store)).rejects.toThrow(SchemaTooNewError);
      expect(await system.findOne({ _id: "schema" })).toMatchObject({ schema: SCHEMA_VERSION + 1 });
    });

    test("waits for running operations when it is closed, and is unavailable afterwards", async () => {
      const store = await engine.open();
      const beside = await engine.openBeside(store);
      const keys = Array.from({ length: 50 }, () => sampleKey());
      const writes = Promise.all(keys.map((key) => beside.collection("keys").insertOne(key)));
      await new Promise(setImmediate);
      await beside.close();
      await writes;
      expect(await store.collection("keys").find({}).toArray()).toHaveLength(keys.length);
      await expect(beside.collection("keys").findOne({})).rejects.toThrow(StoreUnavailableError);
      await expect(beside.collection("keys").insertOne(sampleKey())).rejects.toThrow(StoreUnavailableError);
    });
  });
};
