import type { Collection, Filter } from "mongodb";
import { DuplicateKeyError } from "../../port/errors.ts";
import { beginningWith } from "../../port/textRange.ts";
import { toStoreError } from "../mongoErrors.ts";
import type { CounterChange, CounterLogEntry, CounterLogMember, CounterLogStore } from "./counterLogStore.ts";

/** Entries of a page: with 100 kB each at most one message of the server's. */
const PAGE = 100;

type MemberDocument = Omit<CounterLogMember, "ordinal"> & { readonly _id: string };
/** `changes`: JSON of one list in which three follow each other for each change: key, seq, amount. */
type EntryDocument = { readonly _id: string; readonly changes: string };
type LogDocument = MemberDocument | EntryDocument;

const MEMBERS = "m/";
const padded = (number: number): string => String(number).padStart(12, "0");
const memberId = (ordinal: number): string => MEMBERS + padded(ordinal);
const entryId = (log: string, number: number): string => `e/${log}/${padded(number)}`;
const entriesOf = (log: string) => beginningWith(`e/${log}/`);

const textOf = (changes: readonly CounterChange[]): string => {
  const list: (string | number | null)[] = [];
  for (const { key, seq, amount } of changes) list.push(key, seq, amount);
  return JSON.stringify(list);
};

const changesOf = (text: string): CounterChange[] => {
  const list = JSON.parse(text) as (string | number | null)[];
  const changes: CounterChange[] = [];
  for (let i = 0; i < list.length; i += 3) {
    changes.push({ key: list[i] as string, seq: list[i + 1] as number, amount: list[i + 2] as number | null });
  }
  return changes;
};

const toMember = ({ _id, log, joinedAt, retiredAt }: MemberDocument): CounterLogMember => ({
  ordinal: Number(_id.slice(MEMBERS.length)),
  log,
  joinedAt,
  ...(retiredAt !== undefined && { retiredAt }),
});

const toEntry = ({ _id, changes }: EntryDocument): CounterLogEntry => {
  const end = _id.lastIndexOf("/");
  return { log: _id.slice("e/".length, end), number: Number(_id.slice(end + 1)), changes: changesOf(changes) };
};

const isMember = (document: LogDocument): document is MemberDocument => document._id.startsWith(MEMBERS);

/**
 * The logs in one collection, whose ids alone are looked for.
 * @param run surrounds every command.
 * @param maxTimeMS what the server gives one command, in milliseconds.
 */
export const mongoCounterLogStore = (
  collection: Collection<LogDocument>,
  run: <T>(operation: () => Promise<T>) => Promise<T>,
  maxTimeMS: number,
): CounterLogStore => {
  // A secondary may not have yet what was acknowledged.
  const fresh = { maxTimeMS, readPreference: "primary" } as const;

  const running = <T>(kind: "read" | "write", operation: () => Promise<T>): Promise<T> =>
    run(operation).catch((error: unknown) => {
      throw toStoreError(error, kind);
    });
  const find = (filter: Filter<LogDocument>, options: object = {}): Promise<LogDocument[]> =>
    running("read", () => collection.find(filter, { ...fresh, batchSize: 100_000, ...options }).toArray() as Promise<LogDocument[]>);
  /** False: there is one of that id. */
  const insert = async (document: LogDocument): Promise<boolean> => {
    try {
      await running("write", () => collection.insertOne(document, { maxTimeMS }));
      return true;
    } catch (error) {
      if (error instanceof DuplicateKeyError) return false;
      throw error;
    }
  };

  return {
    members: async () => (await find({ _id: beginningWith(MEMBERS) }, { sort: { _id: 1 } })).filter(isMember).map(toMember),
    join: ({ ordinal, ...member }) => insert({ _id: memberId(ordinal), ...member }),
    retire: async (ordinal, at) => {
      const filter = { _id: memberId(ordinal), retiredAt: { $exists: false } };
      await running("write", () => collection.updateOne(filter, { $set: { retiredAt: at } }, { maxTimeMS }));
    },
    append: async ({ log, number, changes }) => {
      // Only this node appends to its log: where the number is taken the driver has sent the entry twice.
      await insert({ _id: entryId(log, number), changes: textOf(changes) });
    },
    look: async ({ members, entries }) => {
      const ids = [...members.map(memberId), ...entries.map(({ log, number }) => entryId(log, number))];
      const found = await find({ _id: { $in: ids } });
      return {
        members: found.filter(isMember).map(toMember),
        entries: found.filter((document) => !isMember(document)).map((document) => toEntry(document as EntryDocument)),
      };
    },
    page: async (log, after) => {
      const range = { ...entriesOf(log), $gte: entryId(log, after + 1) };
      return (await find({ _id: range }, { sort: { _id: 1 }, limit: PAGE })).map((document) => toEntry(document as EntryDocument));
    },
    trim: async (log, before) => {
      const range = { ...entriesOf(log), $lt: entryId(log, before) };
      await running("write", () => collection.deleteMany({ _id: range }, { maxTimeMS }));
    },
    remove: async ({ ordinal, log }) => {
      await running("write", () => collection.deleteMany({ _id: entriesOf(log) }, { maxTimeMS }));
      await running("write", () => collection.deleteOne({ _id: memberId(ordinal) }, { maxTimeMS }));
    },
  };
};
