import type { Behalf } from "../../domain/behalf.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../port/baseDocument.ts";
import { DuplicateKeyError } from "../port/errors.ts";
import type { Store } from "../port/store.ts";

/** The shared state of one counter: `current` counts window `seq`, `previous` the one before it. */
export interface SharedCounter {
  readonly seq: number;
  readonly current: number;
  readonly previous: number;
}

export interface CountersRepository {
  /**
   * Other nodes charge the same counters: what this one holds of their budget the others cannot spend, and a read is a
   * journey to the server that they share. Else a read costs next to nothing beside a write.
   */
  readonly isShared: boolean;
  /** At once where the counter is in memory. */
  readonly read: (key: string, behalf?: Behalf) => SharedCounter | null | Promise<SharedCounter | null>;
  /** Adds `amount` to window `seq` if its count is at most `atMost`. Null: the counter is in another window, or over. */
  readonly charge: (key: string, seq: number, atMost: number, amount: number, behalf?: Behalf) => Promise<SharedCounter | null>;
  /**
   * Makes the counter in window `seq` with `amount` in it, or adds that if it is there, in that window, with nothing in the
   * window before it and a count of at most `atMost`. Null: it is there and otherwise.
   */
  readonly open: (
    key: string,
    seq: number,
    atMost: number,
    amount: number,
    expireAt: Date,
    behalf?: Behalf,
  ) => Promise<SharedCounter | null>;
  /** Moves the counter from the window that was read as `from` to another one. False: it is no longer what was read. */
  readonly roll: (key: string, from: SharedCounter, to: SharedCounter, expireAt: Date, behalf?: Behalf) => Promise<boolean>;
  /** Gives budget of window `seq` back; does nothing unless that window is the current or the previous one. */
  readonly refund: (key: string, seq: number, amount: number, behalf?: Behalf) => Promise<void>;
  /**
   * Where the collection has not all of them: those that are in memory. One that goes into the collection leaves memory
   * afterwards, so whoever asks here first and reads there then misses none.
   * @param keys see `counterKeysOf`
   */
  readonly recent?: (keys: string) => Promise<RecentCounters>;
}

/** Counters of one namespace that were in memory a moment ago. */
export interface RecentCounters {
  /** Their keys; each run is in the order of `comparePlaces`. A key may be in two of them. */
  readonly runs: readonly (readonly string[])[];
  /** What the counter is now, if it is in memory still. */
  readonly get: (key: string) => SharedCounter | undefined;
}

/** Runs around an operation on counters. */
type Around = <T>(kind: "read" | "write", name: keyof Omit<CountersRepository, "isShared">, operation: () => Promise<T>) => Promise<T>;

/** The same counters, with something around every operation that takes time. @param beforeRead may throw */
export const aroundCounters = (inner: CountersRepository, around: Around, beforeRead?: () => void): CountersRepository => {
  const { recent } = inner;
  return {
    isShared: inner.isShared,
    read: (key) => {
      beforeRead?.();
      try {
        const read = inner.read(key);
        return read instanceof Promise ? around("read", "read", () => read) : read;
      } catch (error) {
        return around("read", "read", () => Promise.reject(error));
      }
    },
    charge: (key, seq, atMost, amount) => around("write", "charge", () => inner.charge(key, seq, atMost, amount)),
    open: (key, seq, atMost, amount, expireAt) => around("write", "open", () => inner.open(key, seq, atMost, amount, expireAt)),
    roll: (key, from, to, expireAt) => around("write", "roll", () => inner.roll(key, from, to, expireAt)),
    refund: (key, seq, amount) => around("write", "refund", () => inner.refund(key, seq, amount)),
    ...(recent && { recent: (keys) => around("read", "recent", () => recent(keys)) }),
  };
};

/** Counters of rate limits (DESIGN §4). Every operation is one conditional write. */
export const createCountersRepository = (store: Store): CountersRepository => store.counters ?? inCollection(store);

const inCollection = (store: Store): CountersRepository => {
  const counters = store.collection("counters");
  return {
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
  };
};
