import { describe, expect, test } from "vitest";
import { SCHEMA_VERSION } from "../../../src/platform/storage/port/baseDocument.ts";
import type { Collection } from "../../../src/platform/storage/port/collection.ts";
import type { KeyDocument } from "../../../src/platform/storage/port/documents.ts";
import { DuplicateKeyError } from "../../../src/platform/storage/port/errors.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { withEvents } from "../../../src/platform/storage/repositories/shared/audited.ts";
import { sampleCounter, sampleKey, sampleNamespace, unique } from "./samples.ts";

const rejectsAsDuplicate = async (operation: Promise<unknown>, index: string): Promise<void> => {
  const error: unknown = await operation.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DuplicateKeyError);
  expect(error).toMatchObject({ index });
};

/** Unique indexes, order within one operation, and aborts. */
export const testGuarantees = (open: () => Store): void => {
  const keys = (): Collection<KeyDocument> => open().collection("keys");

  describe("unique indexes", () => {
    test("an id is taken once", async () => {
      const key = sampleKey();
      await keys().insertOne(key);
      await rejectsAsDuplicate(keys().insertOne(sampleKey({ _id: key._id })), "_id");
      expect(await keys().findOne({ _id: key._id })).toEqual(key);
    });

    test("an insert is refused by the name of the index, and writes nothing", async () => {
      const key = sampleKey();
      await keys().insertOne(key);
      const second = sampleKey({ hash: key.hash as string });
      await rejectsAsDuplicate(keys().insertOne(second), "hash");
      expect(await keys().findOne({ _id: second._id })).toBeNull();
    });

    test("an update is refused and writes nothing", async () => {
      const [first, second] = [sampleKey(), sampleKey()];
      await keys().insertMany([first, second]);
      const take = { $set: { hash: first.hash as string, name: "x" } };
      await rejectsAsDuplicate(keys().updateOne({ _id: second._id }, take), "hash");
      await rejectsAsDuplicate(keys().findOneAndUpdate({ _id: second._id }, take, { returnDocument: "after" }), "hash");
      expect(await keys().findOne({ _id: second._id })).toEqual(second);
    });

    test("an upsert that would insert a duplicate is refused", async () => {
      const key = sampleKey();
      await keys().insertOne(key);
      const upsert = keys().updateOne(
        { _id: unique("key") },
        { $set: { hash: key.hash as string, workspaceId: key.workspaceId } },
        { upsert: true },
      );
      await rejectsAsDuplicate(upsert, "hash");
    });

    test("the same value in another workspace is no duplicate", async () => {
      const namespace = sampleNamespace();
      const namespaces = open().collection("namespaces");
      await namespaces.insertOne(namespace);
      await namespaces.insertOne(sampleNamespace({ name: namespace.name, workspaceId: "ws_other" }));
      await rejectsAsDuplicate(namespaces.insertOne(sampleNamespace({ name: namespace.name })), "name");
    });

    test("documents without the field are not in an index that is only for those with it", async () => {
      const { hash: _, ...bare } = sampleKey();
      await keys().insertMany([bare, { ...bare, _id: unique("key") }]);
      const holder = sampleKey();
      await keys().insertOne(holder);
      await keys().updateOne({ _id: holder._id }, { $unset: { hash: "" } });
      await keys().updateOne({ _id: bare._id }, { $set: { hash: holder.hash as string } });
      expect(await keys().findOne({ hash: holder.hash as string })).toMatchObject({ _id: bare._id });
    });

    test("a document may be written again with the value it has", async () => {
      const key = sampleKey();
      await keys().insertOne(key);
      await keys().updateOne({ _id: key._id }, { $set: { hash: key.hash as string, name: "x" } });
      expect(await keys().findOne({ _id: key._id })).toEqual({ ...key, name: "x" });
    });

    test("a deleted document's values are free", async () => {
      const key = sampleKey();
      await keys().insertOne(key);
      await keys().deleteOne({ _id: key._id });
      await keys().insertOne(key);
      expect(await keys().findOne({ _id: key._id })).toEqual(key);
    });
  });

  describe("many documents in one operation", () => {
    test("insertMany stops at the first error and keeps what came before", async () => {
      const [before, after] = [sampleKey(), sampleKey()];
      await rejectsAsDuplicate(keys().insertMany([before, sampleKey({ _id: before._id }), after]), "_id");
      expect(await keys().findOne({ _id: before._id })).toEqual(before);
      expect(await keys().findOne({ _id: after._id })).toBeNull();
    });

    test("insertMany takes thousands, and none at all", async () => {
      const apiId = unique("api");
      await keys().insertMany([]);
      await keys().insertMany(Array.from({ length: 2500 }, () => sampleKey({ apiId })));
      expect(await keys().find({ apiId }).toArray()).toHaveLength(2500);
    });

    test("bulkWrite does its members in order", async () => {
      const [first, second] = [sampleKey(), sampleKey()];
      expect(await keys().bulkWrite([])).toMatchObject({ matchedCount: 0 });
      const result = await keys().bulkWrite([
        { insertOne: { document: first } },
        { insertOne: { document: second } },
        { updateOne: { filter: { _id: first._id }, update: { $set: { name: "x" } } } },
        { updateOne: { filter: { _id: "missing" }, update: { $set: { name: "x" } } } },
        { deleteOne: { filter: { _id: second._id } } },
      ]);
      expect(result).toMatchObject({ matchedCount: 1 });
      expect(await keys().findOne({ _id: first._id })).toEqual({ ...first, name: "x" });
      expect(await keys().findOne({ _id: second._id })).toBeNull();
    });

    test("bulkWrite stops at the first error and keeps what came before", async () => {
      const [key, after] = [sampleKey(), sampleKey()];
      const bulk = keys().bulkWrite([
        { insertOne: { document: key } },
        { insertOne: { document: sampleKey({ hash: key.hash as string }) } },
        { insertOne: { document: after } },
      ]);
      await rejectsAsDuplicate(bulk, "hash");
      expect(await keys().findOne({ _id: key._id })).toEqual(key);
      expect(await keys().findOne({ _id: after._id })).toBeNull();
    });
  });

  describe("an object that a newer version wrote", () => {
    const newer = SCHEMA_VERSION + 1;

    test("is refused by name in every read of it, and nothing else is", async () => {
      const apiId = unique("api");
      const [known, key] = [sampleKey({ apiId }), sampleKey({ apiId, v: newer })];
      await keys().insertMany([known, key]);
      const _id = key._id;
      const refused = {
        name: "DocumentTooNewError",
        message: expect.stringMatching(new RegExp(`^${_id} in keys .*its schema is ${newer}, this version reads up to ${SCHEMA_VERSION};`)),
      };
      await expect(keys().findOne({ _id })).rejects.toMatchObject(refused);
      await expect(keys().find({ apiId }).toArray()).rejects.toMatchObject(refused);
      expect(await keys().find({ _id: known._id }).toArray()).toEqual([known]);
      expect(await keys().findFields(["hash"], { apiId }, { sort: { _id: 1 } })).toHaveLength(2);
    });

    test("is returned as it is after a write of it, and to callers that allow any version", async () => {
      const key = sampleKey({ v: newer, remaining: 10 });
      await keys().insertOne(key);
      const { _id } = key;
      const spent = await keys().findOneAndUpdate({ _id }, { $inc: { remaining: -1 } }, { returnDocument: "after" });
      expect(spent).toEqual({ ...key, remaining: 9 });
      expect(await keys().find({ _id }, { ofAnyVersion: true }).toArray()).toEqual([spent]);
    });

    test("keeps its version, whatever is written to it unread", async () => {
      const key = sampleKey({ v: newer });
      await keys().insertOne(key);
      const { matchedCount } = await keys().updateOne({ _id: key._id }, withEvents<KeyDocument>({ $set: { name: "x" } }, []));
      expect(matchedCount).toBe(1);
      await expect(keys().findOne({ _id: key._id })).rejects.toThrow(`its schema is ${newer}`);
    });

    test("is one that people know: what nodes keep for each other is read by all of them", async () => {
      const counter = sampleCounter({ v: newer });
      await open().collection("counters").insertOne(counter);
      expect(await open().collection("counters").findOne({ _id: counter._id })).toEqual(counter);
    });
  });

  describe("aborts", () => {
    test("no operation starts once its signal is aborted; it rejects with the reason", async () => {
      const reason = new Error("the caller is gone");
      const options = { signal: AbortSignal.abort(reason) };
      const key = sampleKey();
      await expect(keys().insertOne(key, options)).rejects.toBe(reason);
      await expect(keys().insertMany([key], options)).rejects.toBe(reason);
      await expect(keys().bulkWrite([{ insertOne: { document: key } }], options)).rejects.toBe(reason);
      await expect(keys().updateOne({ _id: key._id }, { $set: { name: "x" } }, { ...options, upsert: true })).rejects.toBe(reason);
      const update = keys().findOneAndUpdate(
        { _id: key._id },
        { $set: { name: "x" } },
        { ...options, upsert: true, returnDocument: "after" },
      );
      await expect(update).rejects.toBe(reason);
      expect(await keys().findOne({ _id: key._id })).toBeNull();
      await keys().insertOne(key);
      await expect(keys().deleteOne({ _id: key._id }, options)).rejects.toBe(reason);
      await expect(keys().deleteMany({ _id: key._id }, options)).rejects.toBe(reason);
      await expect(keys().findOne({ _id: key._id }, options)).rejects.toBe(reason);
      await expect(keys().find({ _id: key._id }, options).toArray()).rejects.toBe(reason);
      expect(await keys().findOne({ _id: key._id })).toEqual(key);
    });

    test("a write that runs is never given up", async () => {
      const controller = new AbortController();
      const key = sampleKey();
      const insertion = keys().insertOne(key, { signal: controller.signal });
      setImmediate(() => setImmediate(() => controller.abort(new Error("too late"))));
      await insertion;
      expect(await keys().findOne({ _id: key._id })).toEqual(key);
    });
  });
};
