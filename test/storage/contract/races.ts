import { describe, expect, test } from "vitest";
import { WORKSPACE_ID } from "../../../src/platform/storage/port/baseDocument.ts";
import { DuplicateKeyError } from "../../../src/platform/storage/port/errors.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";
import { atOnce, sampleCounter, sampleKey, sampleNamespace, unique } from "./samples.ts";

const CALLERS = 24;
/** How often a race is run that writers lose to each other by chance. */
const ROUNDS = 5;

/** Races between the stores of two processes on one database. */
export const testRaces = (open: () => readonly [Store, Store]): void => {
  const storeOf = (caller: number): Store => open()[caller % 2 === 0 ? 0 : 1];
  const succeeded = <T>(outcomes: PromiseSettledResult<T>[]): T[] =>
    outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));

  describe("races", () => {
    test("exactly one of several concurrent inserts with one unique value wins, the others are duplicates", async () => {
      const name = unique("name");
      const outcomes = await atOnce(CALLERS, (caller) => storeOf(caller).collection("namespaces").insertOne(sampleNamespace({ name })));
      expect(succeeded(outcomes)).toHaveLength(1);
      for (const outcome of outcomes) if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(DuplicateKeyError);
      expect(await storeOf(0).collection("namespaces").find({ name }).toArray()).toHaveLength(1);
    });

    test("exactly one of several concurrent conditional updates wins", async () => {
      const key = sampleKey({ revision: 7 });
      await storeOf(0).collection("keys").insertOne(key);
      const outcomes = await atOnce(CALLERS, (caller) =>
        storeOf(caller)
          .collection("keys")
          .updateOne({ _id: key._id, revision: 7 }, { $inc: { revision: 1 }, $set: { name: `caller ${caller}` } }),
      );
      const results = succeeded(outcomes);
      expect(results).toHaveLength(CALLERS);
      expect(results.filter(({ matchedCount }) => matchedCount === 1)).toHaveLength(1);
      const winner = results.findIndex(({ matchedCount }) => matchedCount === 1);
      expect(await storeOf(0).collection("keys").findOne({ _id: key._id })).toMatchObject({ revision: 8, name: `caller ${winner}` });
    });

    test("a balance is never spent twice", async () => {
      const key = sampleKey({ remaining: 10 });
      await storeOf(0).collection("keys").insertOne(key);
      const outcomes = await atOnce(CALLERS, (caller) =>
        storeOf(caller)
          .collection("keys")
          .findOneAndUpdate({ _id: key._id, remaining: { $gte: 1 } }, { $inc: { remaining: -1 } }, { returnDocument: "after" }),
      );
      const balances = succeeded(outcomes).flatMap((document) => (document === null ? [] : [document.remaining]));
      expect(balances.sort((a = 0, b = 0) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });

    test("a find of a thousand documents has each of them once while others write to them", async () => {
      const namespaces = (process: number) => storeOf(process).collection("namespaces");
      const documents = Array.from({ length: 1_000 }, () => sampleNamespace({ name: unique("name") }));
      const names = documents.map(({ name }) => name);
      await namespaces(0).insertMany(documents);
      let isOver = false;
      const writers = atOnce(16, async (writer) => {
        for (let turn = writer; !isOver; turn = (turn + 16) % documents.length) {
          await namespaces(writer).updateOne({ _id: documents[turn]?._id ?? "" }, { $inc: { updatedAt: 1 } });
        }
      });
      try {
        for (let round = 0; round < 4 * ROUNDS; round++) {
          const found = await namespaces(1)
            .find({ workspaceId: WORKSPACE_ID, name: { $in: names } })
            .toArray();
          expect(found.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
        }
      } finally {
        isOver = true;
        await writers;
      }
    });

    test("concurrent increments lose none", async () => {
      const counter = sampleCounter();
      await storeOf(0).collection("counters").insertOne(counter);
      await atOnce(CALLERS, (caller) =>
        storeOf(caller)
          .collection("counters")
          .updateOne({ _id: counter._id }, { $inc: { current: 1 } }),
      );
      expect(await storeOf(0).collection("counters").findOne({ _id: counter._id })).toMatchObject({ current: CALLERS });
    });

    test("concurrent upserts by id make one document and count every caller", async () => {
      const _id = unique("counter");
      const outcomes = await atOnce(CALLERS, (caller) => {
        const { _id: _, current: __, ...fresh } = sampleCounter();
        return storeOf(caller)
          .collection("counters")
          .updateOne({ _id }, { $inc: { current: 1 }, $setOnInsert: fresh }, { upsert: true });
      });
      const results = succeeded(outcomes);
      expect(results).toHaveLength(CALLERS);
      expect(results.filter(({ upsertedCount }) => upsertedCount === 1)).toHaveLength(1);
      expect(await storeOf(0).collection("counters").findOne({ _id })).toMatchObject({ current: CALLERS });
    });

    test("concurrent upserts by a unique field make one document, and all get it", async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const { _id: _, hash, workspaceId, ...fields } = sampleKey();
        const outcomes = await atOnce(CALLERS, (caller) =>
          storeOf(caller)
            .collection("keys")
            .findOneAndUpdate(
              { workspaceId, hash: hash as string },
              { $setOnInsert: { ...fields, _id: unique("key") } },
              { upsert: true, returnDocument: "after" },
            ),
        );
        const ids = new Set(succeeded(outcomes).map((document) => document?._id));
        expect(succeeded(outcomes)).toHaveLength(CALLERS);
        expect(ids.size).toBe(1);
      }
    });

    test.each(["updateOne", "findOneAndUpdate"] as const)(
      "exactly one of several concurrent %s to one unique value wins, the others are duplicates",
      async (operation) => {
        for (let round = 0; round < ROUNDS; round++) {
          const keys = Array.from({ length: CALLERS }, () => sampleKey());
          await storeOf(0).collection("keys").insertMany(keys);
          const hash = unique("hash");
          const outcomes = await atOnce(CALLERS, (caller): Promise<unknown> => {
            const collection = storeOf(caller).collection("keys");
            const [filter, update] = [{ _id: keys[caller]?._id as string }, { $set: { hash } }];
            return operation === "updateOne"
              ? collection.updateOne(filter, update)
              : collection.findOneAndUpdate(filter, update, { returnDocument: "after" });
          });
          expect(succeeded(outcomes)).toHaveLength(1);
          for (const outcome of outcomes) if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(DuplicateKeyError);
        }
      },
    );

    test("a read after an acknowledged write sees it, from the other process too", async () => {
      const _id = unique("counter");
      await storeOf(0).collection("counters").insertOne(sampleCounter({ _id }));
      for (let count = 1; count <= CALLERS; count++) {
        await storeOf(count)
          .collection("counters")
          .updateOne({ _id }, { $inc: { current: 1 } });
        expect(await storeOf(0).collection("counters").findOne({ _id })).toMatchObject({ current: count });
        expect(await storeOf(1).collection("counters").findOne({ _id })).toMatchObject({ current: count });
      }
    });
  });
};
