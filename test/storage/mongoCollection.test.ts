import { setTimeout as sleep } from "node:timers/promises";
import { MongoServerError } from "mongodb";
import { afterEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createKeyedMutex } from "../../src/platform/storage/keyedMutex.ts";
import { mongoCollection } from "../../src/platform/storage/mongo/mongoCollection.ts";
import type { Collection } from "../../src/platform/storage/port/collection.ts";
import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";
import { sampleKey } from "./contract/samples.ts";

/** Collections over one driver whose writes are all `write`, as a store makes them. */
const collectionsOver = (
  write: () => Promise<unknown>,
  findOne: (filter: unknown) => Promise<unknown> = async () => null,
): readonly [Collection<KeyDocument>, Collection<KeyDocument>] => {
  const driver = { insertOne: write, updateOne: write, findOneAndUpdate: write, findOne };
  const turns = createKeyedMutex();
  const open = () =>
    mongoCollection<KeyDocument>("keys", driver as never, (operation) => operation(), turns, { sortsInMemory: false }, 2_500);
  return [open(), open()];
};

/** An insert, an update and another update that give three keys these hashes, at the same time. */
const writeAll = ([one, other]: ReturnType<typeof collectionsOver>, [first, second, third]: readonly [string, string, string]) =>
  Promise.allSettled([
    one.insertOne(sampleKey({ hash: first })),
    other.updateOne({ _id: "key_a" }, { $set: { hash: second } }),
    other.findOneAndUpdate({ _id: "key_b" }, { $set: { hash: third } }, { returnDocument: "after" }),
  ]);

describe("writes that give a document a unique value", () => {
  afterEach(() => vi.restoreAllMocks());

  test.each([
    { hashes: ["same", "same", "same"], together: 1 },
    { hashes: ["one", "two", "three"], together: 3 },
  ] as const)("take turns when it is the same one, whichever collection object and operation: $hashes", async ({ hashes, together }) => {
    let running = 0;
    let most = 0;
    const collections = collectionsOver(async () => {
      running++;
      most = Math.max(most, running);
      await sleep(5);
      running--;
      return null;
    });
    const outcomes = await writeAll(collections, hashes);
    expect(outcomes.every(({ status }) => status === "fulfilled")).toBe(true);
    expect(most).toBe(together);
  });

  test("are refused, and never sent, when their turn comes after the time that an operation has", async () => {
    let now = 1_000;
    vi.spyOn(systemClock, "monotonic").mockImplementation(() => now);
    let sent = 0;
    const collections = collectionsOver(async () => {
      sent++;
      await sleep(5);
      now += 2_501;
      return null;
    });
    const [first, ...late] = await writeAll(collections, ["same", "same", "same"]);
    expect(first.status).toBe("fulfilled");
    for (const outcome of late) {
      const { reason } = outcome as PromiseRejectedResult;
      expect(reason).toBeInstanceOf(StoreUnavailableError);
      expect(reason).toMatchObject({ outcomeUnknown: false });
    }
    expect(sent).toBe(1);
  });

  test("look for the value before an insert that had to wait: it would be refused, and deadlock with other nodes until then", async () => {
    const sent: unknown[] = [];
    const looks: unknown[] = [];
    const [keys] = collectionsOver(
      async () => {
        sent.push("insert");
        await sleep(5);
      },
      async (filter) => {
        looks.push(filter);
        return { _id: "key_of_the_first" };
      },
    );
    const key = sampleKey({ hash: "same" });
    const outcomes = await Promise.allSettled([keys.insertOne(key), keys.insertOne(sampleKey({ hash: "same" }))]);
    expect(outcomes).toMatchObject([{ status: "fulfilled" }, { status: "rejected", reason: { name: "DuplicateKeyError", index: "hash" } }]);
    expect(sent).toHaveLength(1);
    expect(looks).toEqual([{ workspaceId: key.workspaceId, hash: "same" }]);
  });

  test("tell a document's own id from another's value, and look for no value that a document does not have", async () => {
    const own = sampleKey({ hash: "same" });
    const looks: unknown[] = [];
    let sent = 0;
    const [keys] = collectionsOver(
      async () => {
        if (++sent % 2 === 1) await sleep(5);
        if (sent === 3) throw new MongoServerError({ message: "WriteConflict", code: 112 });
      },
      async (filter) => {
        looks.push(filter);
        return { _id: own._id };
      },
    );
    const outcomes = await Promise.allSettled([keys.insertOne(own), keys.insertOne(own)]);
    expect(outcomes).toMatchObject([{ status: "fulfilled" }, { status: "rejected", reason: { name: "DuplicateKeyError", index: "_id" } }]);
    sent = 2;
    const { hash: _, ...withoutHash } = sampleKey({});
    await keys.insertOne(withoutHash as KeyDocument);
    expect([sent, looks.length]).toEqual([4, 1]);
  });

  test("look for the value when the server undid the first attempt, and are sent again when no document has it", async () => {
    let sent = 0;
    let looks = 0;
    const [keys] = collectionsOver(
      async () => {
        if (++sent === 1) throw new MongoServerError({ message: "WriteConflict", code: 112 });
      },
      async () => {
        looks++;
        return null;
      },
    );
    await keys.insertOne(sampleKey({ hash: "wanted" }));
    expect([sent, looks]).toEqual([2, 1]);
  });
});

describe("a deadlock that FerretDB reports by its message alone", () => {
  const findAndModify = (message: string) => {
    let sent = 0;
    const [keys] = collectionsOver(async () => {
      if (++sent === 1) throw new MongoServerError({ message, code: 1 });
      return null;
    });
    const outcome = keys.findOneAndUpdate({ _id: "key_a" }, { $set: { hash: "wanted" } }, { returnDocument: "after" });
    return outcome.then(
      () => ({ sent, error: undefined }),
      (error: unknown) => ({ sent, error }),
    );
  };

  test("was undone, so the update is sent again", async () => {
    expect(await findAndModify("deadlock detected")).toEqual({ sent: 2, error: undefined });
  });

  test("is distinguished from other internal errors, which are not repeated", async () => {
    const { sent, error } = await findAndModify("out of shared memory");
    expect(sent).toBe(1);
    expect(error).toBeInstanceOf(StoreUnavailableError);
  });
});
