import { SCHEMA_VERSION, WORKSPACE_ID } from "../../port/baseDocument.ts";
import type { SharedCounter } from "../../port/counters.ts";
import type { StoreLog } from "../../port/storeLog.ts";
import { toText } from "../sqlite/documentText.ts";
import type { AppendLog } from "./appendLog.ts";
import { JOURNAL_VERSION, type LogRecord } from "./logRecords.ts";

/** The counter of a rate limit, as the table and the journal have it. */
export interface StoredCounter {
  seq: number;
  current: number;
  previous: number;
  /** Unix ms. */
  expireAt: number;
}

/** What others are told of a counter. */
export const toSharedCounter = ({ seq, current, previous }: StoredCounter): SharedCounter => ({ seq, current, previous });

/** The document of a counter, as the table has it. */
export const documentTextOf = (key: string, { seq, current, previous, expireAt }: StoredCounter): string =>
  toText({ _id: key, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, seq, current, previous, expireAt });

/** How many counters one counts for by the length of its key. */
export const weightOf = (key: string): number => 1 + (key.length >>> 7);

/** What a counter has become. */
type JournalEntry = readonly [key: string, seq: number, current: number, previous: number, expireAt: number];

const isEntry = (member: JournalEntry | object | null): member is JournalEntry => Array.isArray(member);

/** An entry of the journal, as JSON. */
export const journalEntryOf = (key: string, { seq, current, previous, expireAt }: StoredCounter): string =>
  `[${JSON.stringify(key)},${seq},${current},${previous},${expireAt}]`;

/**
 * Tells of every entry of the logs in the order in which they were made: those of the log that was begun earlier, then
 * those of the other. Throws for a journal of a later version.
 * @returns the logs in this order, and the number of the last record
 */
export const replayEntries = <L extends Pick<AppendLog, "read">>(
  logs: readonly [L, L],
  onEntry: (key: string, state: StoredCounter) => void,
  log?: StoreLog,
): { readonly inOrder: readonly [L, L]; readonly lastNumber: number } => {
  const warn = (bytes: number): void => {
    log?.warn({ bytes }, "the journal of rate limit counters ends with bytes that are no whole record");
  };
  const begun = logs.map((file) => {
    const records = file.read(warn);
    const next = (): LogRecord | undefined => records.next().value ?? undefined;
    return { file, first: next(), next };
  });
  begun.sort((one, another) => (one.first?.number ?? 0) - (another.first?.number ?? 0));
  let lastNumber = 0;
  for (const { first, next } of begun) {
    for (let record = first; record !== undefined; record = next()) {
      lastNumber = record.number;
      const [version, ...entries] = JSON.parse(record.text) as [number, ...(JournalEntry | object | null)[]];
      if (version > JOURNAL_VERSION)
        throw new Error(`the journal of rate limit counters has version ${version}, which this is too old for`);
      for (const entry of entries) {
        if (!isEntry(entry)) continue;
        const [key, seq, current, previous, expireAt] = entry;
        onEntry(key, { seq, current, previous, expireAt });
      }
    }
  }
  const [older, newer] = begun.map(({ file }) => file) as [L, L];
  return { inOrder: [older, newer], lastNumber };
};
