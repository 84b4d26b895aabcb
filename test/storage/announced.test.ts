import { beforeEach, describe, expect, test } from "vitest";
import { type Announcer, announceWrites } from "../../src/platform/storage/decorators/announceWrites.ts";
import type { Collection } from "../../src/platform/storage/port/collection.ts";
import type { CollectionName, KeyDocument } from "../../src/platform/storage/port/documents.ts";
import { DuplicateKeyError, StoreOverloadedError, StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { createModify } from "../../src/platform/storage/repositories/shared/modify.ts";
import { createTestClock, type TestClock } from "../support/testClock.ts";
import { sampleKey } from "./contract/samples.ts";

/** Of every write below; it matters to none that is sent. */
const gone = AbortSignal.abort(new Error("the client is gone"));

describe("a store whose writes are announced", () => {
  let clock: TestClock;
  /** The operations in order: `+ids` announced, `-ids` forgotten, `?ids` marked uncertain, and the names of writes. */
  let log: string[];
  let write: () => void;
  let announce: () => void;
  let store: Store;

  beforeEach(() => {
    clock = createTestClock();
    log = [];
    write = () => undefined;
    announce = () => undefined;
    const announcer: Announcer = {
      announce: async (ids) => {
        log.push(`+${ids}`);
        announce();
        await undefined;
        log.push("stored");
      },
      forget: (ids) => log.push(`-${ids}`),
      doubt: (ids) => log.push(`?${ids}`),
    };
    const collection = (name: CollectionName) =>
      new Proxy(
        {},
        {
          get: (_, operation: string) => async () => {
            log.push(`${name}.${operation}`);
            write();
            return { _id: "key_1", matchedCount: 1 };
          },
        },
      ) as Collection<KeyDocument>;
    store = announceWrites({ clock, engine: "mongo", collection } as unknown as Store, announcer, clock);
  });

  const disable = () => store.collection("keys").updateOne({ _id: "key_1" }, { $set: { enabled: false } }, { signal: gone });

  test("stores the announcement, writes, and forgets what is void, in this order", async () => {
    await disable();
    expect(log).toEqual(["+key_1", "stored", "keys.updateOne", "-key_1"]);
  });

  test("writes nothing that it could not announce", async () => {
    announce = () => {
      throw new StoreUnavailableError("away", { outcomeUnknown: true });
    };
    await expect(disable()).rejects.toMatchObject({ name: "StoreUnavailableError", outcomeUnknown: false });
    expect(log).toEqual(["+key_1"]);
  });

  test("announces again what was written more than 2 s after it was announced, before it is acknowledged", async () => {
    write = () => clock.advance(2_001);
    await disable();
    expect(log).toEqual(["+key_1", "stored", "keys.updateOne", "-key_1", "+key_1", "stored"]);
  });

  test("does not acknowledge what it could not announce again", async () => {
    write = () => {
      clock.advance(2_001);
      announce = () => {
        throw new StoreUnavailableError("away");
      };
    };
    await expect(disable()).rejects.toMatchObject({ name: "StoreUnavailableError", outcomeUnknown: true });
    expect(log.at(-1)).toBe("?key_1");
  });

  test.each([
    [
      "doubts what a write may have changed whose outcome is unknown",
      new StoreUnavailableError("cut", { outcomeUnknown: true }),
      ["?key_1"],
    ],
    ["doubts what a write may have changed that failed for a reason of its own", new Error("what is this"), ["?key_1"]],
    ["forgets what was refused in part, and need not doubt it", new DuplicateKeyError("hash"), ["-key_1"]],
    ["forgets nothing of a write that was not sent because the store is away", new StoreUnavailableError("away"), []],
    ["forgets nothing of a write for which there was no place", new StoreOverloadedError("too many"), []],
    ["forgets nothing of a write that was given up before it was sent", gone.reason as Error, []],
  ])("%s", async (_, error, then) => {
    write = () => {
      throw error;
    };
    await expect(disable()).rejects.toBe(error);
    expect(log).toEqual(["+key_1", "stored", "keys.updateOne", ...then]);
  });

  test("doubts what was refused in part so late that its announcement may be past", async () => {
    write = () => {
      clock.advance(2_001);
      throw new DuplicateKeyError("hash");
    };
    await expect(disable()).rejects.toThrow("hash");
    expect(log.at(-1)).toBe("?key_1");
  });

  test("lets an announcement serve the writes of the next second, counted from the announcement", async () => {
    await disable();
    clock.advance(999);
    write = () => clock.advance(1_001);
    await disable();
    write = () => clock.advance(1);
    await disable();
    const written = ["keys.updateOne", "-key_1"];
    expect(log).toEqual(["+key_1", "stored", ...written, ...written, "+key_1", "stored", ...written]);
    log = [];
    clock.advance(998);
    write = () => clock.advance(1_002);
    await disable();
    expect(log).toEqual([...written, "+key_1", "stored"]);
  });

  test("announces no new object: only this node may remember that it was missing, and others for a second", async () => {
    const [first, second, third] = ["a", "b", "c"].map((hash) => sampleKey({ hash })) as [KeyDocument, KeyDocument, KeyDocument];
    await store.collection("keys").insertOne(first);
    await store.collection("keys").insertMany([second, third]);
    expect(log.filter((entry) => entry.startsWith("+"))).toEqual([]);
    expect(log.filter((entry) => entry.startsWith("-"))).toEqual(["-a", "-b,c"]);
  });

  test("announces a new override, which changes what nodes remember of its namespace, and any change of one", async () => {
    const override = { _id: "rlor_1", v: 1, workspaceId: "ws", createdAt: 1, namespaceId: "rlns_1", limit: 1, duration: 1 };
    const overrides = store.collection("overrides");
    await overrides.insertOne(override);
    clock.advance(1_000);
    await overrides.updateOne({ _id: "rlor_1", namespaceId: "rlns_1" }, { $set: { limit: 2 } });
    expect(log.filter((entry) => entry.startsWith("+"))).toEqual(["+overrides:rlns_1", "+overrides:rlns_1"]);
    expect(() => overrides.updateOne({ _id: "rlor_1" }, { $set: { limit: 2 } })).toThrow("has to name what it changes");
  });

  test("announces no spend, no time of last use and no event that is moved", async () => {
    const keys = store.collection("keys");
    await keys.findOneAndUpdate({ _id: "key_1" }, { $inc: { remaining: -1 } }, { returnDocument: "after" });
    await keys.bulkWrite([{ updateOne: { filter: { _id: "key_1" }, update: { $max: { lastUsedAt: 1 } } } }]);
    await keys.updateOne({ _id: "key_1" }, { $unset: { outbox: "", pendingMark: "" } });
    await keys.updateOne({ _id: "key_1" }, { $set: { v: 1, pendingMark: "a" }, $push: { outbox: { $each: [] } } });
    expect(log).toEqual(["keys.findOneAndUpdate", "keys.bulkWrite", "keys.updateOne", "keys.updateOne"]);
  });

  test("announces a balance that is set, and everything that several operations change", async () => {
    const keys = store.collection("keys");
    await keys.updateOne({ _id: "key_1" }, { $set: { remaining: 5 } });
    await keys.bulkWrite([
      { updateOne: { filter: { _id: "key_2" }, update: { $set: { name: "a" } } } },
      { deleteOne: { filter: { _id: "key_3" } } },
    ]);
    await keys.deleteMany({ _id: { $in: ["key_4", "key_5"] } });
    expect(log.filter((entry) => entry.startsWith("+"))).toEqual(["+key_1", "+key_2,key_3", "+key_4,key_5"]);
  });

  test("announces what is acknowledged as unchanged: another node may have written it and died before its announcement", async () => {
    const modify = createModify(store, "keys");
    await modify("key_1", () => undefined);
    expect(log).toEqual(["keys.findOne", "+key_1", "stored", "-key_1"]);
    announce = () => {
      throw new StoreUnavailableError("away");
    };
    clock.advance(1_000);
    await expect(modify("key_1", () => undefined)).rejects.toThrow("could not be announced");
  });

  test("refuses a change that does not name its objects, and passes on changes to objects that are never cached", async () => {
    expect(() => store.collection("keys").updateOne({ apiId: "api_1" }, { $set: { enabled: false } })).toThrow("has to name");
    await store.collection("leases").updateOne({ _id: "audit" }, { $set: { holder: "me" } });
    expect(log).toEqual(["leases.updateOne"]);
  });
});
