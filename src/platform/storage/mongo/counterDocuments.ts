import { type Collection, MongoServerError } from "mongodb";
import type { SharedCounter } from "../counters/sharedCounter.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../port/baseDocument.ts";
import type { CounterDocument } from "../port/documents.ts";
import { StoreUnavailableError } from "../port/errors.ts";
import { isTransient, toStoreError } from "./mongoErrors.ts";
import { repeated } from "./repeated.ts";
import { createTurnBatches } from "./turnBatches.ts";
import { type ConditionalWrite, type WriteOutcome, writeConditionally } from "./writeConditionally.ts";

/**
 * The most counters of one command. A key has two kilobytes at most, so that a command has less than one megabyte; and FerretDB,
 * which keeps what a command wrote locked until its end, takes some tens of milliseconds for so many.
 */
const MOST = 200;
/** Commands that read under way at the same time, and as many that write. */
const AT_ONCE = 2;

interface Settled<T> {
  readonly key: string;
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
}
type Read = Settled<SharedCounter | null>;
type CounterWrite = ConditionalWrite<CounterDocument>;
interface Write extends Settled<WriteOutcome> {
  readonly statement: CounterWrite;
  /** Another way, that of a write with which no other goes along. Settles it. */
  readonly sendAlone?: () => Promise<void>;
}

/** A charge that was done, but of which one does not know what the counter is now: it is lost, as any whose answer is. */
const lostCharge = (error: unknown): unknown =>
  error instanceof StoreUnavailableError
    ? new StoreUnavailableError(error.message, { cause: error, outcomeUnknown: true, tooSlow: error.tooSlow })
    : error;

/** Reads and conditional writes of single counters. */
export interface CounterDocuments {
  readonly read: (key: string) => Promise<SharedCounter | null>;
  /** Adds `amount` to window `seq` if its count is at most `atMost`. Null: the counter is in another window, or over. */
  readonly add: (key: string, seq: number, atMost: number, amount: number) => Promise<SharedCounter | null>;
  /**
   * Makes the counter in window `seq` with `amount` in it, or adds that if it is there, in that window, with nothing in the
   * window before it and a count of at most `atMost`. Null: it is there and otherwise.
   */
  readonly open: (key: string, seq: number, atMost: number, amount: number, expireAt: Date) => Promise<SharedCounter | null>;
  /** Moves the counter from the window that was read as `from` to another one. False: it is no longer what was read. */
  readonly roll: (key: string, from: SharedCounter, to: SharedCounter, expireAt: Date) => Promise<boolean>;
  /** See `Counters.refund`. */
  readonly refund: (key: string, seq: number, amount: number) => Promise<void>;
}

/**
 * Counters of rate limits (DESIGN §7) as documents of a MongoDB collection. The operations on different counters in one
 * turn of the event loop are sent as one command: conditional writes, each with an outcome of its own, or a find. An addition
 * that is sent alone learns the counter from its own answer; those of one command read theirs afterwards, together.
 * @param run surrounds every command.
 * @param maxTimeMS what the server gives one command, in milliseconds.
 */
export const counterDocuments = (
  collection: Collection,
  run: <T>(operation: () => Promise<T>) => Promise<T>,
  maxTimeMS: number,
): CounterDocuments => {
  const sendReads = async (reads: readonly Read[]): Promise<void> => {
    try {
      const options = { batchSize: reads.length + 1, maxTimeMS };
      const filter: object = { _id: { $in: reads.map(({ key }) => key) } };
      const found = (await run(() => collection.find(filter, options).toArray())) as unknown as CounterDocument[];
      const counters = new Map(found.map((counter) => [counter._id, counter]));
      for (const { key, resolve } of reads) resolve(counters.get(key) ?? null);
    } catch (error) {
      for (const { reject } of reads) reject(toStoreError(error, "read"));
    }
  };

  const sendWrites = async (writes: readonly Write[]): Promise<void> => {
    const [first] = writes;
    if (writes.length === 1 && first?.sendAlone) return first.sendAlone();
    try {
      const statements = writes.map(({ statement }) => statement);
      const outcomes = await run(() => writeConditionally(collection, statements, maxTimeMS));
      for (const [i, outcome] of outcomes.entries()) {
        if (outcome instanceof MongoServerError) writes[i]?.reject(outcome);
        else writes[i]?.resolve(outcome);
      }
    } catch (error) {
      // Nobody knows which of them were done, so none may be repeated.
      const told = writes.length === 1 ? error : toStoreError(error, "write");
      for (const { reject } of writes) reject(told);
    }
  };

  const lane = { most: MOST, atOnce: AT_ONCE, patience: maxTimeMS };
  const joinReads = createTurnBatches<Read>({ send: sendReads, ...lane });
  const joinWrites = createTurnBatches<Write>({ send: sendWrites, ...lane });

  const read = (key: string): Promise<SharedCounter | null> => new Promise((resolve, reject) => joinReads({ key, resolve, reject }));

  /** What the server undid because of another write is sent again. */
  const repeatedly = async <T>(join: (resolve: (result: T | Promise<T>) => void, reject: (error: unknown) => void) => void): Promise<T> => {
    try {
      return await repeated(isTransient, () => new Promise<T>(join));
    } catch (error) {
      throw toStoreError(error, "write");
    }
  };

  const write = (statement: CounterWrite): Promise<WriteOutcome> =>
    repeatedly((resolve, reject) => joinWrites({ key: statement.filter._id, statement, resolve, reject }));

  /** What a counter is after a charge in window `seq` that left it with no more than `most`. */
  const readCharged = async (key: string, seq: number, most: number): Promise<SharedCounter> => {
    const counter = await read(key).catch((error: unknown) => {
      throw lostCharge(error);
    });
    // Another node has begun the next window meanwhile, and nobody charges this one any more: nothing is decided by what is told of it.
    return counter?.seq === seq ? counter : { seq, current: most, previous: 0 };
  };

  const chargeIf = (condition: Partial<CounterDocument>, key: string, seq: number, atMost: number, amount: number) =>
    repeatedly<SharedCounter | null>((resolve, reject) => {
      const filter = { _id: key, seq, ...condition, current: { $lte: atMost } };
      const update = { $inc: { current: amount } };
      joinWrites({
        key,
        statement: { filter, update },
        resolve: (outcome) => resolve(outcome === "refused" ? null : readCharged(key, seq, atMost + amount)),
        reject,
        sendAlone: () =>
          run(() => collection.findOneAndUpdate(filter as object, update, { returnDocument: "after", maxTimeMS })).then(
            (after) => resolve(after as SharedCounter | null),
            reject,
          ),
      });
    });

  return {
    read,
    add: (key, seq, atMost, amount) => chargeIf({}, key, seq, atMost, amount),
    open: async (key, seq, atMost, amount, expireAt) => {
      const outcome = await write({
        filter: { _id: key, seq, previous: 0, current: { $lte: atMost } },
        update: { $inc: { current: amount }, $setOnInsert: { v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, expireAt } },
        inserts: true,
      });
      if (outcome === "inserted") return { seq, current: amount, previous: 0 };
      if (outcome === "updated") return readCharged(key, seq, atMost + amount);
      // It is there: otherwise, or another node has made it at the same moment.
      const counter = await read(key);
      const hasRoom = counter?.seq === seq && counter.previous === 0 && counter.current <= atMost;
      return hasRoom ? chargeIf({ previous: 0 }, key, seq, atMost, amount) : null;
    },
    roll: async (key, from, { seq, current, previous }, expireAt) => {
      const filter = { _id: key, seq: from.seq, current: from.current };
      return (await write({ filter, update: { $set: { seq, current, previous, expireAt } } })) !== "refused";
    },
    refund: async (key, seq, amount) => {
      const asCurrent = await write({ filter: { _id: key, seq }, update: { $inc: { current: -amount } } });
      if (asCurrent !== "refused") return;
      await write({ filter: { _id: key, seq: seq + 1 }, update: { $inc: { previous: -amount } } });
    },
  };
};
