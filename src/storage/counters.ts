import { SCHEMA_VERSION, WORKSPACE_ID } from "./documents.ts";
import { DuplicateKeyError } from "./errors.ts";
import type { Store } from "./store.ts";

/** The shared state of one counter: `current` counts window `seq`, `previous` the one before it. */
export interface SharedCounter {
  readonly seq: number;
  readonly current: number;
  readonly previous: number;
}

export interface CountersRepository {
  /** As the store says: what may be there is looked at before it is written. */
  readonly readsAreCheap: boolean;
  readonly read: (key: string) => Promise<SharedCounter | null>;
  /** Adds `amount` to window `seq` if its count is at most `atMost`. Null: the counter is in another window, or over. */
  readonly charge: (key: string, seq: number, atMost: number, amount: number) => Promise<SharedCounter | null>;
  /**
   * Makes the counter in window `seq` with `amount` in it, or adds that if it is there, in that window, with nothing in the
   * window before it and a count of at most `atMost`. Null: it is there and otherwise.
   */
  readonly open: (key: string, seq: number, atMost: number, amount: number, expireAt: Date) => Promise<SharedCounter | null>;
  /** Moves the counter from the window that was read as `from` to another one. False: it is no longer what was read. */
  readonly roll: (key: string, from: SharedCounter, to: SharedCounter, expireAt: Date) => Promise<boolean>;
  /** Gives budget of window `seq` back; does nothing unless that window is the current or the previous one. */
  readonly refund: (key: string, seq: number, amount: number) => Promise<void>;
}

/** Counters of rate limits (DESIGN §4). Every operation is one conditional write. */
export const createCountersRepository = (store: Store): CountersRepository => {
  const counters = store.collection("counters");
  return {
    readsAreCheap: store.readsAreCheap,
    read: (key) => counters.findOne({ _id: key }),
    charge: (key, seq, atMost, amount) =>
      counters.findOneAndUpdate({ _id: key, seq, current: { $lte: atMost } }, { $inc: { current: amount } }, { returnDocument: "after" }),
    open: async (key, seq, atMost, amount, expireAt) => {
      try {
        return await counters.findOneAndUpdate(
          { _id: key, seq, previous: 0, current: { $lte: atMost } },
          { $inc: { current: amount }, $setOnInsert: { v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, expireAt } },
          { upsert: true, returnDocument: "after" },
        );
      } catch (error) {
        if (error instanceof DuplicateKeyError) return null;
        throw error;
      }
    },
    roll: async (key, from, { seq, current, previous }, expireAt) => {
      const result = await counters.updateOne(
        { _id: key, seq: from.seq, current: from.current },
        { $set: { seq, current, previous, expireAt } },
      );
      return result.matchedCount === 1;
    },
    refund: async (key, seq, amount) => {
      const asCurrent = await counters.updateOne({ _id: key, seq }, { $inc: { current: -amount } });
      if (asCurrent.matchedCount === 1) return;
      await counters.updateOne({ _id: key, seq: seq + 1 }, { $inc: { previous: -amount } });
    },
  };
};
