import { SCHEMA_VERSION, WORKSPACE_ID } from "./port/baseDocument.ts";
import type { Collection } from "./port/collection.ts";
import type { Counters } from "./port/counters.ts";
import type { CounterDocument } from "./port/documents.ts";
import { DuplicateKeyError } from "./port/errors.ts";

/** Counters of rate limits (DESIGN §4) that are documents of a collection. Every operation is one conditional write. */
export const collectionCounters = (counters: Collection<CounterDocument>): Counters => ({
  isShared: true,
  read: (key, behalf) => counters.findOne({ _id: key }, behalf),
  charge: (key, seq, atMost, amount, behalf) =>
    counters.findOneAndUpdate(
      { _id: key, seq, current: { $lte: atMost } },
      { $inc: { current: amount } },
      { returnDocument: "after", caller: behalf?.caller },
    ),
  open: async (key, seq, atMost, amount, expireAt, behalf) => {
    try {
      return await counters.findOneAndUpdate(
        { _id: key, seq, previous: 0, current: { $lte: atMost } },
        { $inc: { current: amount }, $setOnInsert: { v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, expireAt } },
        { upsert: true, returnDocument: "after", caller: behalf?.caller },
      );
    } catch (error) {
      if (error instanceof DuplicateKeyError) return null;
      throw error;
    }
  },
  roll: async (key, from, { seq, current, previous }, expireAt, behalf) => {
    const result = await counters.updateOne(
      { _id: key, seq: from.seq, current: from.current },
      { $set: { seq, current, previous, expireAt } },
      behalf,
    );
    return result.matchedCount === 1;
  },
  refund: async (key, seq, amount, behalf) => {
    const asCurrent = await counters.updateOne({ _id: key, seq }, { $inc: { current: -amount } }, behalf);
    if (asCurrent.matchedCount === 1) return;
    await counters.updateOne({ _id: key, seq: seq + 1 }, { $inc: { previous: -amount } }, behalf);
  },
});
