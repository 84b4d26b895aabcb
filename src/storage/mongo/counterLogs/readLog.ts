import { chunks } from "../../../util/chunks.ts";
import type { CounterLogEntry, CounterLogStore } from "./counterLogStore.ts";

/** Entries that one look asks for, of all logs together: they have 100 kB at most, so that an answer is one message of the server's. */
export const MOST_AHEAD = 128;

/** Adds the entries that are missing between others, and were there: what a page missed while it was written. */
const complete = async (store: CounterLogStore, log: string, entries: Map<number, CounterLogEntry>): Promise<void> => {
  let last: number | undefined;
  const missing: { log: string; number: number }[] = [];
  for (const number of entries.keys()) {
    for (let between = (last ?? number) + 1; between < number; between++) missing.push({ log, number: between });
    last = number;
  }
  // What is missing after these looks was removed, as it had no weight any more.
  for (const some of chunks(missing, MOST_AHEAD)) {
    const { entries: found } = await store.look({ members: [], entries: some });
    for (const entry of found) entries.set(entry.number, entry);
  }
};

/** The pages of a log, one after the other. */
const readPages = async (store: CounterLogStore, log: string): Promise<Map<number, CounterLogEntry>> => {
  const entries = new Map<number, CounterLogEntry>();
  for (let after = 0; ; ) {
    const page = await store.page(log, after);
    for (const entry of page) entries.set(entry.number, entry);
    const last = page.at(-1);
    if (last === undefined) return entries;
    after = last.number;
  }
};

/** All entries of a log, by their numbers. Rejects with `StoreUnavailableError`. */
export const readLog = async (store: CounterLogStore, log: string): Promise<ReadonlyMap<number, CounterLogEntry>> => {
  const entries = await readPages(store, log);
  await complete(store, log, entries);
  return entries;
};
