import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { type CounterEntry, putCounters, type StoredCounter } from "./counterTable.ts";

/** Of a record of a log: bytes of its text (u32), checksum of what follows it (u32), number (f64), all little-endian; then the text. */
const HEADER = { checksum: 4, number: 8, size: 16 } as const;

type LogEntry = readonly [key: string, seq: number, current: number, previous: number, expireAt: number];

interface LogRecord {
  readonly number: number;
  readonly entries: readonly CounterEntry[];
}

/** The records of a log up to the first that is not whole. */
const recordsOf = (file: string): readonly LogRecord[] => {
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  const records: LogRecord[] = [];
  for (let at = 0; at + HEADER.size <= bytes.length; ) {
    const end = at + HEADER.size + bytes.readUInt32LE(at);
    if (end > bytes.length || crc32(bytes.subarray(at + HEADER.number, end)) !== bytes.readUInt32LE(at + HEADER.checksum)) break;
    // The version comes first, and there may be notes and nulls between the entries.
    const members = JSON.parse(bytes.toString("utf8", at + HEADER.size, end)) as readonly unknown[];
    const entries = members.filter((member): member is LogEntry => Array.isArray(member));
    records.push({
      number: bytes.readDoubleLE(at + HEADER.number),
      entries: entries.map(([key, seq, current, previous, expireAt]) => [key, { seq, current, previous, expireAt }]),
    });
    at = end;
  }
  return records;
};

const logsIn = (directory: string): readonly string[] => ["counters-a.log", "counters-b.log"].map((name) => join(directory, name));
const marksIn = (directory: string): string => join(directory, "latchkey.marks");

/** Whether a version up to 0.11 was the last to use the directory. */
export const hasOldFiles = (directory: string): boolean => [...logsIn(directory), marksIn(directory)].some(existsSync);

/** Counters that are not in `counters.sqlite`: rows of the state file, which a restore or a version up to 0.11 wrote, and the logs of the latter. */
export const readOldCounters = (directory: string, state: DatabaseSync): ReadonlyMap<string, StoredCounter> => {
  const rows = state.prepare("SELECT id, doc FROM counters WHERE json_valid(doc)").all();
  const inTable = rows.map(({ id, doc }): CounterEntry => {
    const { seq, current, previous, expireAt } = JSON.parse(String(doc)) as StoredCounter;
    return [String(id), { seq, current, previous, expireAt }];
  });
  const records = logsIn(directory)
    .flatMap(recordsOf)
    .toSorted((one, another) => one.number - another.number);
  return new Map([...inTable, ...records.flatMap(({ entries }) => entries)]);
};

/** Moves them to `counters.sqlite`, and removes the files of versions up to 0.11. May be killed and repeated. @param now Unix ms */
export const importOldCounters = (directory: string, state: DatabaseSync, counters: DatabaseSync, now: number): void => {
  const live = [...readOldCounters(directory, state)].filter(([, { expireAt }]) => expireAt > now);
  counters.exec("BEGIN IMMEDIATE");
  putCounters((sql) => counters.prepare(sql), live);
  counters.exec("COMMIT");
  // Version 0.11 takes a store for damaged that counts commits and has no marks.
  state.exec("BEGIN IMMEDIATE; DELETE FROM counters; UPDATE store SET commits=0 WHERE commits<>0; COMMIT");
  for (const file of [...logsIn(directory), marksIn(directory)]) rmSync(file, { force: true });
};
