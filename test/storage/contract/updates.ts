import { describe, expect, test } from "vitest";
import type { Collection, Update } from "../../../src/platform/storage/port/collection.ts";
import type { KeyDocument } from "../../../src/platform/storage/port/documents.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { sampleCounter, sampleKey, unique } from "./samples.ts";

/** How documents change. */
export const testUpdates = (open: () => Store): void => {
  const keys = (): Collection<KeyDocument> => open().collection("keys");
  const updated = async (fields: Partial<KeyDocument>, update: Update<KeyDocument>): Promise<KeyDocument | null> => {
    const key = sampleKey(fields);
    await keys().insertOne(key);
    const after = await keys().findOneAndUpdate({ _id: key._id }, update, { returnDocument: "after" });
    expect(await keys().findOne({ _id: key._id })).toEqual(after);
    return after;
  };

  describe("updates", () => {
    test("$set replaces values of every kind, $unset removes the field", async () => {
      const after = await updated(
        { name: "old", remaining: 1, expires: 5 },
        {
          $set: { name: "new", enabled: false, permissionIds: ["a"], refill: { interval: "daily", amount: 2 }, refilledAt: 2 ** 42 },
          $unset: { remaining: "", identityId: "" },
        },
      );
      expect(after).toMatchObject({
        name: "new",
        enabled: false,
        permissionIds: ["a"],
        refill: { interval: "daily", amount: 2 },
        refilledAt: 2 ** 42,
        expires: 5,
      });
      expect(after).not.toHaveProperty("remaining");
      expect(after).not.toHaveProperty("identityId");
    });

    test("$set ignores undefined", async () => {
      const after = await updated({ name: "kept" }, { $set: { name: undefined, prefix: "p" } as unknown as { prefix: string } });
      expect(after).toMatchObject({ name: "kept", prefix: "p" });
    });

    test("$inc adds, also below zero and beyond 32 bits; a missing field counts as 0", async () => {
      expect(await updated({ remaining: 5 }, { $inc: { remaining: -7 } })).toMatchObject({ remaining: -2 });
      expect(await updated({ remaining: 2 ** 31 - 1 }, { $inc: { remaining: 1 } })).toMatchObject({ remaining: 2 ** 31 });
      expect(await updated({ remaining: 2 ** 40 }, { $inc: { remaining: 2 ** 41 } })).toMatchObject({ remaining: 3 * 2 ** 40 });
      expect(await updated({ remaining: 1 }, { $inc: { remaining: 0.25 } })).toMatchObject({ remaining: 1.25 });
      expect(await updated({}, { $inc: { remaining: 3 } })).toMatchObject({ remaining: 3 });
    });

    test("$max raises to at least the value; a missing field takes it", async () => {
      expect(await updated({ lastUsedAt: 5 }, { $max: { lastUsedAt: 7 } })).toMatchObject({ lastUsedAt: 7 });
      expect(await updated({ lastUsedAt: 5 }, { $max: { lastUsedAt: 3 } })).toMatchObject({ lastUsedAt: 5 });
      expect(await updated({}, { $max: { lastUsedAt: -3 } })).toMatchObject({ lastUsedAt: -3 });
    });

    test("$push appends all of $each, also to a missing list", async () => {
      const limit = (id: string) => ({ id, name: id, limit: 1, duration: 1000, autoApply: false });
      const after = await updated(
        { ratelimits: [limit("a")] },
        { $push: { ratelimits: { $each: [limit("b"), limit("a")] }, outbox: { $each: [] as never[] } } },
      );
      expect(after?.ratelimits).toEqual([limit("a"), limit("b"), limit("a")]);
      const event = {
        id: "log_1",
        event: "e",
        time: 1,
        actor: { type: "system", id: "s" },
        display: "",
        resources: [],
        correlationId: "c",
      } as const;
      expect(await updated({}, { $push: { outbox: { $each: [event] } } })).toMatchObject({ outbox: [event] });
    });

    test("$addToSet adds what is not in the list yet", async () => {
      const after = await updated({ permissionIds: ["b", "a"] }, { $addToSet: { permissionIds: { $each: ["a", "c", "c", "A"] } } });
      expect(after?.permissionIds).toEqual(["b", "a", "c", "A"]);
      const repeating = await updated({ permissionIds: ["a", "a"] }, { $addToSet: { permissionIds: { $each: ["a", "b"] } } });
      expect(repeating?.permissionIds).toEqual(["a", "a", "b"]);
      const created = await keys().findOneAndUpdate(
        { _id: unique("key"), hash: unique("hash") },
        { $addToSet: { roleIds: { $each: ["r"] } } },
        { upsert: true, returnDocument: "after" },
      );
      expect(created?.roleIds).toEqual(["r"]);
    });

    test("$pull removes scalars that are in $in, every occurrence, and leaves a missing list missing", async () => {
      const after = await updated({ roleIds: ["a", "b", "a", "c"] }, { $pull: { roleIds: { $in: ["a", "x"] } } });
      expect(after?.roleIds).toEqual(["b", "c"]);
      expect(await updated({}, { $pull: { outbox: { id: { $in: ["x"] } } } })).not.toHaveProperty("outbox");
    });

    test("$pull removes items by their id", async () => {
      const limit = (id: string) => ({ id, name: id, limit: 1, duration: 1000, autoApply: false });
      const after = await updated({ ratelimits: ["a", "b", "c"].map(limit) }, { $pull: { ratelimits: { id: { $in: ["a", "c"] } } } });
      expect(after?.ratelimits).toEqual([limit("b")]);
    });

    test("several operators change one document together", async () => {
      const after = await updated(
        { remaining: 5, permissionIds: ["a"] },
        { $inc: { remaining: -1, revision: 1 }, $set: { name: "n" }, $pull: { permissionIds: { $in: ["a"] } }, $max: { lastUsedAt: 9 } },
      );
      expect(after).toMatchObject({ remaining: 4, revision: 1, name: "n", permissionIds: [], lastUsedAt: 9 });
    });

    test("an update that no store supports is refused and changes nothing", async () => {
      const key = sampleKey({ name: "n" });
      await keys().insertOne(key);
      const refused = (update: object) => expect(keys().updateOne({ _id: key._id }, update as Update<KeyDocument>)).rejects.toThrow();
      await refused({ $inc: { name: 1 } });
      await refused({ $set: { remaining: 1 }, $inc: { remaining: 1 } });
      await refused({ $push: { name: { $each: ["x"] } } });
      await refused({ $set: { _id: "other" } });
      await refused({ $unknown: { name: "x" } });
      await refused({});
      expect(await keys().findOne({ _id: key._id })).toEqual(key);
    });

    test("a Date is set", async () => {
      const counters = open().collection("counters");
      const counter = sampleCounter();
      await counters.insertOne(counter);
      const expireAt = new Date(7_123_456_789_012);
      await counters.updateOne({ _id: counter._id }, { $set: { expireAt } });
      expect(await counters.findOne({ _id: counter._id })).toEqual({ ...counter, expireAt });
    });
  });

  describe("results", () => {
    test("updateOne counts what it matched, what it changed and what it inserted", async () => {
      const key = sampleKey({ name: "a" });
      await keys().insertOne(key);
      expect(await keys().updateOne({ _id: key._id }, { $set: { name: "b" } })).toMatchObject({
        matchedCount: 1,
        modifiedCount: 1,
        upsertedCount: 0,
      });
      expect(await keys().updateOne({ _id: key._id }, { $set: { name: "b" } })).toMatchObject({
        matchedCount: 1,
        modifiedCount: 0,
        upsertedCount: 0,
      });
      expect(await keys().updateOne({ _id: "missing" }, { $set: { name: "b" } })).toMatchObject({
        matchedCount: 0,
        modifiedCount: 0,
        upsertedCount: 0,
      });
      expect(await keys().updateOne({ _id: unique("key") }, { $set: { hash: unique("hash") } }, { upsert: true })).toMatchObject({
        matchedCount: 0,
        modifiedCount: 0,
        upsertedCount: 1,
      });
    });

    test("updateOne changes one document of several that match", async () => {
      const apiId = unique("api");
      await keys().insertMany([sampleKey({ apiId }), sampleKey({ apiId })]);
      await keys().updateOne({ apiId }, { $set: { name: "x" } });
      expect(await keys().find({ apiId, name: "x" }).toArray()).toHaveLength(1);
    });

    test("findOneAndUpdate returns the document before or after, or null when nothing matches", async () => {
      const key = sampleKey({ name: "a" });
      await keys().insertOne(key);
      expect(await keys().findOneAndUpdate({ _id: key._id }, { $set: { name: "b" } }, { returnDocument: "before" })).toEqual(key);
      expect(await keys().findOneAndUpdate({ _id: key._id }, { $set: { name: "c" } }, { returnDocument: "after" })).toEqual({
        ...key,
        name: "c",
      });
      expect(await keys().findOneAndUpdate({ _id: "missing" }, { $set: { name: "c" } }, { returnDocument: "after" })).toBeNull();
      expect(await keys().findOne({ _id: "missing" })).toBeNull();
    });

    test("deleteOne and deleteMany count what they removed", async () => {
      const apiId = unique("api");
      await keys().insertMany(Array.from({ length: 1203 }, () => sampleKey({ apiId })));
      expect(await keys().deleteOne({ apiId })).toMatchObject({ deletedCount: 1 });
      expect(await keys().deleteOne({ _id: "missing" })).toMatchObject({ deletedCount: 0 });
      expect(await keys().deleteMany({ apiId })).toMatchObject({ deletedCount: 1202 });
      expect(await keys().deleteMany({ apiId })).toMatchObject({ deletedCount: 0 });
    });
  });

  describe("upserts", () => {
    test("insert the filter's plain equalities, $setOnInsert and the update", async () => {
      const [_id, hash] = [unique("key"), unique("hash")];
      const upsert = (update: Update<KeyDocument>) =>
        keys().findOneAndUpdate({ _id, hash, createdAt: { $gt: 0 } }, update, { upsert: true, returnDocument: "after" });
      const inserted = { _id, hash, createdAt: 1, start: "s", remaining: 2, permissionIds: ["p"] };
      const update = { $inc: { remaining: 2 }, $setOnInsert: { createdAt: 1, start: "s", permissionIds: ["p"] } };
      expect(await upsert(update)).toEqual(inserted);
      expect(await upsert({ ...update, $setOnInsert: { ...update.$setOnInsert, start: "other" } })).toEqual({ ...inserted, remaining: 4 });
    });

    test("may give the id by $setOnInsert", async () => {
      const [_id, hash] = [unique("key"), unique("hash")];
      const upsert = () => keys().updateOne({ hash }, { $setOnInsert: { _id, start: "s" } }, { upsert: true });
      expect(await upsert()).toMatchObject({ upsertedCount: 1 });
      expect(await upsert()).toMatchObject({ matchedCount: 1, upsertedCount: 0 });
      expect(await keys().findOne({ _id })).toEqual({ _id, hash, start: "s" });
    });

    test("return null as the document before an insert", async () => {
      const upsert = () => keys().findOneAndUpdate({ _id }, { $setOnInsert: { hash: _id } }, { upsert: true, returnDocument: "before" });
      const _id = unique("key");
      expect(await upsert()).toBeNull();
      expect(await upsert()).toEqual({ _id, hash: _id });
    });
  });
};
