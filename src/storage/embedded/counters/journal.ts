import { gatherForGroupCommit } from "../sqlite/gatherForGroupCommit.ts";
import type { AppendLog } from "./appendLog.ts";
import { textOfRecord } from "./logRecords.ts";

export interface Journal {
  /**
   * Resolves once the entry, a JSON text, is on disk. When it cannot be written, `undo` is called, after those of all
   * later entries, and the promise rejects with `StoreUnavailableError`.
   */
  readonly append: (entry: string, undo: () => void) => Promise<void>;
  /**
   * Later entries go to the other log. Resolves with a function that clears this one, when all that went to it is on
   * disk, or undone.
   */
  readonly rotate: () => Promise<() => Promise<void>>;
  /** The number of the record that the last entry went to. Numbers grow. */
  readonly lastRecord: () => number;
  /** The number of the last record that is on disk. */
  readonly lastWritten: () => number;
  /** True when the record of that number is on disk, or undone. */
  readonly isSettled: (record: number) => boolean;
  /** Resolves when every entry so far is on disk, or undone. */
  readonly settled: () => Promise<void>;
  /** Characters of the entries since the last rotation. */
  readonly size: () => number;
}

/** Entries that share a commit: they become one record. */
interface Group {
  readonly number: number;
  readonly log: AppendLog;
  readonly entries: string[];
  readonly undo: (() => void)[];
  readonly written: PromiseWithResolvers<void>;
}

/**
 * A write-ahead log in two files that are rotated: while what one of them tells is put in its place, the other one takes what
 * comes. Entries of one turn of the event loop, and all that come while those before them are written, share a record (group commit).
 *
 * @param lastNumber of the last record in the logs; greater than those of all records that they ever had
 */
export const createJournal = (logs: readonly [AppendLog, AppendLog], lastNumber: number): Journal => {
  /** Of the record that was begun last. One that failed is never used again: it may be on the disk all the same. */
  let number = lastNumber;
  let written = lastNumber;
  let [log, other] = logs;
  let size = 0;
  /** In order. */
  let groups: Group[] = [];
  /** The first one, once it is on its way. */
  let sent: Group | undefined;
  let isFlushing = false;

  const fail = (error: unknown): void => {
    const failed = groups;
    groups = [];
    // What came later was made of what came before.
    for (const { undo } of failed.toReversed()) for (const back of undo.toReversed()) back();
    for (const { written } of failed) written.reject(error);
  };

  const groupSize = (): number => groups[0]?.entries.length ?? 0;

  const flush = async (): Promise<void> => {
    const group = groups[0];
    if (group !== undefined) {
      sent = group;
      try {
        const after = group.number === written + 1 ? undefined : written;
        await group.log.append({ number: group.number, text: textOfRecord(group.entries, after) });
        written = group.number;
        groups.shift();
        group.written.resolve();
      } catch (error) {
        fail(error);
      }
    }
    sent = undefined;
    if (groups.length > 0) gatherForGroupCommit(groupSize, flush);
    else isFlushing = false;
  };

  /** The group that still takes entries; a new one when the last one has been sent, or is of the other log. */
  const open = (): Group => {
    const last = groups.at(-1);
    if (last !== undefined && last.log === log && last !== sent) return last;
    const group: Group = { number: ++number, log, entries: [], undo: [], written: Promise.withResolvers() };
    groups.push(group);
    if (!isFlushing) {
      isFlushing = true;
      gatherForGroupCommit(groupSize, flush);
    }
    return group;
  };

  const settled = async (): Promise<void> => {
    await groups.at(-1)?.written.promise.catch(() => undefined);
  };

  return {
    append: (entry, undo) => {
      const group = open();
      group.entries.push(entry);
      group.undo.push(undo);
      size += entry.length;
      return group.written.promise;
    },
    rotate: async () => {
      const full = log;
      const all = settled();
      [log, other] = [other, log];
      size = 0;
      await all;
      return full.clear;
    },
    lastRecord: () => number,
    lastWritten: () => written,
    isSettled: (record) => record < (groups[0]?.number ?? number + 1),
    settled,
    size: () => size,
  };
};
