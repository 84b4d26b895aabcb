import { SCHEMA_VERSION, WORKSPACE_ID } from "../../port/baseDocument.ts";
import type { SharedCounter } from "../../port/counters.ts";
import type { StoreLog } from "../../port/storeLog.ts";
import { toText } from "../sqlite/documentText.ts";
import type { AppendLog } from "./appendLog.ts";
import { JOURNAL_VERSION, type LogRecord } from "./logRecords.ts";

/** A counter of a rate limit. */
export interface CounterState {
  seq: number;
  current: number;
  previous: number;
  /** Unix ms. */
  expireAt: number;
}

/** What others are told of a counter. */
export const shown = ({ seq, current, previous }: CounterState): SharedCounter => ({ seq, current, previous });

/** The document of a counter, as the table has it. */
export const textOf = (key: string, { seq, current, previous, expireAt }: CounterState): string =>
  toText({ _id: key, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, seq, current, previous, expireAt });

/** How many counters one counts for by the length of its key. */
export const weightOf = (key: string): number => 1 + (key.length >>> 7);

/** What a counter has become. */
type Entry = readonly [key: string, seq: number, current: number, previous: number, expireAt: number];

const isEntry = (member: Entry | object | null): member is Entry => Array.isArray(member);

/** An entry of the journal, as JSON. */
export const entryOf = (key: string, { seq, current, previous, expireAt }: CounterState): string =>
  `[${JSON.stringify(key)},${seq},${current},${previous},${expireAt}]`;

/**
 * Tells of every entry of the logs in the order in which they were made: those of the log that was begun earlier, then
 * those of the other. Throws for a journal of a later version.
 * @returns the logs in this order, and the number of the last record
 */
export const replayEntries = (
  logs: readonly [AppendLog, AppendLog],
  onEntry: (key: string, state: CounterState) => void,
  told?: StoreLog,
): { readonly inOrder: readonly [AppendLog, AppendLog]; readonly lastNumber: number } => {
  const warn = (bytes: number): void => {
    told?.warn({ bytes }, "the journal of rate limit counters ends with bytes that are no whole record");
  };
  const begun = logs.map((log) => {
    const records = log.read(warn);
    const next = (): LogRecord | undefined => records.next().value ?? undefined;
    return { log, first: next(), next };
  });
  begun.sort((one, another) => (one.first?.number ?? 0) - (another.first?.number ?? 0));
  let lastNumber = 0;
  for (const { first, next } of begun) {
    for (let record = first; record !== undefined; record = next()) {
      lastNumber = record.number;
      const [version, ...entries] = JSON.parse(record.text) as [number, ...(Entry | object | null)[]];
      if (version > JOURNAL_VERSION)
        throw new Error(`the journal of rate limit counters has version ${version}, which this is too old for`);
      for (const entry of entries) {
        if (!isEntry(entry)) continue;
        const [key, seq, current, previous, expireAt] = entry;
        onEntry(key, { seq, current, previous, expireAt });
      }
    }
  }
  const [older, newer] = begun.map(({ log }) => log) as [AppendLog, AppendLog];
  return { inOrder: [older, newer], lastNumber };
};
