import { type Collection, type Db, type Document, MongoServerError } from "mongodb";
import type { Clock } from "../../base/clock.ts";
import { chunks } from "../../util/chunks.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../port/baseDocument.ts";
import type { CounterDocument } from "../port/documents.ts";
import { StoreUnavailableError } from "../port/errors.ts";
import type { LeaseDocument } from "../port/internalDocuments.ts";
import { beginningWith } from "../port/textRange.ts";
import { isTransient } from "./mongoErrors.ts";
import { repeated } from "./repeated.ts";
import { writeConditionally } from "./writeConditionally.ts";

/** Ids of the leases that say where nodes count: all of them together, and each that has just started. */
const LEASES = "counters ";
const KEPT = `${LEASES}kept`;
const START = `${LEASES}start `;
/** Prefix of the ids of entries in the logs. */
const ENTRIES = "e/";
/** The longest window that was counted in logs, in milliseconds. */
const LONGEST_WINDOW_MS = 60_000;
/** An entry has up to 100 kB, so that a page is one message of the server. */
const ENTRIES_PER_PAGE = 100;
const COUNTERS_PER_COMMAND = 200;

type Lease = Pick<LeaseDocument, "holder" | "expires"> & { readonly _id: string };
/** `changes`: JSON of one list that holds key, window and amount of each change in turn. */
interface Entry {
  readonly _id: string;
  readonly changes: string;
}
/** By key and number of the window. */
type Counts = ReadonlyMap<string, ReadonlyMap<number, number>>;

export interface TakeOverOptions {
  readonly database: Db;
  readonly clock: Clock;
  /** Surrounds every command. */
  readonly run: <T>(operation: () => Promise<T>) => Promise<T>;
  /** Time limit of one command on the server, in milliseconds. */
  readonly maxTimeMS: number;
}

/** On the primary: a secondary may not have everything yet. */
const collectionOf = <T extends Document>(database: Db, name: string): Collection<T> =>
  database.collection<T>(name, { readPreference: "primary" });

/** Sums up the changes of all nodes. Claims that were never granted count too: that can only deny early. */
const readLogs = async ({ database, run, maxTimeMS }: TakeOverOptions): Promise<Counts> => {
  const counts = new Map<string, Map<number, number>>();
  const log = collectionOf<Entry>(database, "counterLog");
  const options = { sort: { _id: 1 }, limit: ENTRIES_PER_PAGE, batchSize: ENTRIES_PER_PAGE + 1, maxTimeMS } as const;
  const range = beginningWith(ENTRIES);
  for (let after = ""; ; ) {
    const page = await run(() => log.find({ _id: { ...range, $gt: after } }, options).toArray());
    for (const { changes } of page) {
      const list = JSON.parse(changes) as (string | number | null)[];
      for (let i = 0; i < list.length; i += 3) {
        const [key, seq, amount] = list.slice(i, i + 3) as [string, number, number | null];
        const windows = counts.get(key) ?? new Map<number, number>();
        counts.set(key, windows.set(seq, (windows.get(seq) ?? 0) + (amount ?? 0)));
      }
    }
    const last = page.at(-1);
    if (last === undefined) return counts;
    after = last._id;
  }
};

/** Writes the counts as documents, except those that another node has written already. */
const writeDocuments = async ({ database, clock, run, maxTimeMS }: TakeOverOptions, counts: Counts): Promise<void> => {
  const expireAt = new Date(clock.now() + 3 * LONGEST_WINDOW_MS);
  const writes = Array.from(counts, ([_id, windows]) => {
    const seq = Math.max(...windows.keys());
    const countOf = (window: number): number => Math.max(0, windows.get(window) ?? 0);
    const $set = { seq, current: countOf(seq), previous: countOf(seq - 1), expireAt, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID };
    return { filter: { _id, seq: { $lt: seq } }, update: { $set }, inserts: true };
  });
  for (const some of chunks(writes, COUNTERS_PER_COMMAND)) {
    await repeated(isTransient, () =>
      run(async () => {
        const outcomes = await writeConditionally<CounterDocument>(database.collection("counters"), some, maxTimeMS);
        const failure = outcomes.find((outcome) => outcome instanceof MongoServerError);
        if (failure !== undefined) throw failure;
      }),
    );
  }
};

/**
 * Moves what nodes of 0.10 and 0.11 counted in logs into documents, then removes the logs. Two nodes may do it at once.
 * Rejects with `StoreUnavailableError` while nodes that count in logs run: beside them, each would admit a limit of its own.
 */
export const takeOverCounterLogs = async (options: TakeOverOptions): Promise<void> => {
  const { database, clock, run, maxTimeMS } = options;
  const leases = collectionOf<Lease>(database, "leases");
  const found = await run(() => leases.find({ _id: beginningWith(LEASES) }, { maxTimeMS }).toArray());
  if (found.length === 0) return;
  const isInLogs = found.some(({ _id, holder }) => _id === KEPT && holder === "logs");
  const isStarting = found.some(({ _id, holder, expires }) => _id.startsWith(START) && holder === "logs" && expires >= clock.now());
  const nodes = collectionOf(database, "nodes");
  const isRunning = isInLogs && (await run(() => nodes.countDocuments({ expireAt: { $gt: new Date(clock.now()) } }, { maxTimeMS }))) > 0;
  if (isStarting || isRunning) {
    throw new StoreUnavailableError(
      "nodes of an earlier version count rate limits in logs (RATELIMIT_COUNTERS=logs): stop them, this one starts up to two minutes later",
    );
  }
  if (isInLogs) {
    await writeDocuments(options, await readLogs(options));
    await run(() => database.collection("counterLog").drop());
  }
  await run(() => leases.deleteMany({ _id: beginningWith(LEASES) }, { maxTimeMS }));
};
