import { MongoBulkWriteError, MongoNetworkError, MongoServerError } from "mongodb";
import { describe, expect, test } from "vitest";
import { type CounterDocuments, counterDocuments } from "../../src/platform/storage/mongo/counterDocuments.ts";
import { createTestClock } from "../support/testClock.ts";

const LATER = new Date(createTestClock().now());

/** Counters over a driver with these answers to batches; it grants every single write. */
const answering = (...answers: (() => unknown)[]) => {
  const sent: number[] = [];
  const driver = {
    bulkWrite: async (statements: readonly unknown[]) => {
      sent.push(statements.length);
      return (answers.shift() ?? (() => ({ matchedCount: 0, upsertedIds: { 0: "" } })))();
    },
    find: () => ({ toArray: async () => [] }),
  };
  return { counters: counterDocuments(driver as never, (operation) => operation(), 2_500), sent };
};

const partly = (writeErrors: readonly object[], { matchedCount = 0, upsertedIds = {}, concern = undefined as unknown } = {}) => {
  const result = { matchedCount, upsertedIds, getWriteConcernError: () => concern };
  return (): never => {
    throw new MongoBulkWriteError({ message: "", code: 0, writeErrors: writeErrors as never }, result as never);
  };
};
const openAll = (counters: CounterDocuments) => Promise.allSettled(["a", "b"].map((key) => counters.open(key, 5, 9, 1, LATER)));
const unknown = { status: "rejected", reason: { name: "StoreUnavailableError", outcomeUnknown: true } };

describe("a server's answers to several writes", () => {
  test("one that it undid because of another is sent again, and only that one", async () => {
    const deadlock = { index: 0, code: 112, errmsg: "WriteConflict" };
    const { counters, sent } = answering(partly([deadlock], { upsertedIds: { 1: "b" } }));
    expect(await openAll(counters)).toMatchObject([{ status: "fulfilled" }, { status: "fulfilled" }]);
    expect(sent).toEqual([2, 1]);
  });

  test.each([
    ["a majority has not confirmed them", partly([{ index: 0, code: 11000 }], { matchedCount: 1, concern: { code: 64 } })],
    [
      "it ended the command, whatever the reason",
      () => {
        throw new MongoBulkWriteError(new MongoServerError({ code: 112, message: "" }), {} as never);
      },
    ],
    [
      "the connection broke",
      () => {
        throw new MongoBulkWriteError(new MongoNetworkError("") as never, {} as never);
      },
    ],
    ["it does not tell of each", () => ({ matchedCount: 0, upsertedIds: { 0: "a" } })],
  ])("nothing is known of any, and none is sent again, when %s", async (_, answer) => {
    const { counters, sent } = answering(answer);
    expect(await openAll(counters)).toMatchObject([unknown, unknown]);
    expect(sent).toEqual([2]);
  });

  test("an applied charge is not granted when the value of the counter is unknown", async () => {
    const driver = {
      bulkWrite: async () => ({ matchedCount: 2, upsertedIds: {} }),
      find: () => ({
        toArray: async () => {
          throw new MongoNetworkError("");
        },
      }),
    };
    const counters = counterDocuments(driver as never, (operation) => operation(), 2_500);
    const charged = await Promise.allSettled(["a", "b"].map((key) => counters.add(key, 5, 9, 1)));
    expect(charged).toMatchObject([unknown, unknown]);
  });
});
