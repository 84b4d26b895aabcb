import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { StoreUnavailableError } from "../../port/errors.ts";
import { afterOf, decodeRecords, type LogRecord, readHead } from "../counters/logRecords.ts";
import { type Marks, readMarks, readSettled } from "../marks.ts";
import { isDamage, isInterrupted, isUnavailability } from "../sqlite/sqliteErrors.ts";
import { readStoreRow, type StoreRow } from "../sqlite/storeRow.ts";
import { type StoreFiles, sizeOf } from "../storeFiles.ts";
import { readWal, type WalEvidence } from "./walEvidence.ts";

/** `unnamed`: of a version that gave no ids, or new. */
export type DatabaseEvidence =
  | { readonly state: "missing" | "empty" | "unnamed" }
  | { readonly state: "unreadable"; readonly reason: string }
  | ({ readonly state: "named" } & StoreRow);

export interface LogEvidence {
  readonly file: string;
  /** Undefined when it is missing. */
  readonly size: number | undefined;
  /** The store that it names. */
  readonly store: string | undefined;
  /** The first record, and the number of the last one; that is 0 without records. */
  readonly first: LogRecord | undefined;
  readonly last: number;
  /** Bytes that are no records, with records behind them. */
  readonly damagedBytes: number;
  /** Records that are missing between others. */
  readonly missing: number;
}

/** What can be seen of a store's files without changing any of them. */
export interface Evidence {
  readonly files: StoreFiles;
  readonly database: DatabaseEvidence;
  /** The same without what is in `wal`; undefined when nothing is. */
  readonly withoutWal: DatabaseEvidence | undefined;
  /** What that says of the database beside it. */
  readonly wal: WalEvidence | undefined;
  /** The database is shorter than it says, and what is missing is not in `wal` either. */
  readonly isCutOff: boolean;
  readonly marks: Marks | "missing" | "damaged";
  /** None where a service uses the store, nor anything of `wal`. */
  readonly logs: readonly [LogEvidence, LogEvidence] | undefined;
  /** Those that only a start makes that has made a database before. */
  readonly otherFiles: readonly string[];
}

/** Runs `look` on a connection that cannot write. @param withoutWal as if the commits that wait in the log were not there. */
export const lookInto = <T>(file: string, look: (database: DatabaseSync) => T, withoutWal = false): T | { readonly unreadable: string } => {
  const url = pathToFileURL(file);
  if (withoutWal) url.searchParams.set("immutable", "1");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(withoutWal ? url : file, { readOnly: true, timeout: 1000 });
    return look(database);
  } catch (error) {
    if (isInterrupted(error))
      throw new StoreUnavailableError(`${file} was interrupted in a change: the next start undoes that`, { cause: error });
    if (isDamage(error)) return { unreadable: (error as Error).message };
    if (isUnavailability(error)) throw new StoreUnavailableError(`${file} cannot be read`, { cause: error });
    throw error;
  } finally {
    database?.close();
  }
};

export const lookAtDatabase = (file: string, withoutWal = false): DatabaseEvidence => {
  const size = sizeOf(file);
  if (size === undefined) return { state: "missing" };
  // SQLite would remove the log of one that is empty.
  if (size === 0) return { state: "empty" };
  const row = lookInto(file, readStoreRow, withoutWal);
  if (row === undefined) return { state: "unnamed" };
  return "unreadable" in row ? { state: "unreadable", reason: row.unreadable } : { state: "named", ...row };
};

const lookAtMarks = (file: string): Evidence["marks"] => (sizeOf(file) === undefined ? "missing" : readSettled(() => readMarks(file)));

const lookAtLog = (file: string): LogEvidence => {
  const size = sizeOf(file);
  const bytes = size === undefined ? Buffer.alloc(0) : readFileSync(file);
  const head = readHead(bytes);
  let first: LogRecord | undefined;
  let last = 0;
  let missing = 0;
  let damagedBytes = 0;
  const onDamage = (count: number): void => {
    damagedBytes += count;
  };
  for (const record of decodeRecords(bytes, head?.end ?? 0, { onDamage })) {
    if (first !== undefined && head !== undefined && afterOf(record) > last) missing += afterOf(record) - last;
    first ??= record;
    last = record.number;
  }
  return { file, size, store: head?.store, first, last, damagedBytes, missing };
};

/** Those that are of the same store as the database, as far as that says of which one it is. */
export const trustedMarks = ({ database, marks }: Pick<Evidence, "database" | "marks">): Marks | undefined => {
  if (typeof marks === "string" || (database.state === "named" && database.store !== marks.store)) return undefined;
  return marks;
};

type LogOfSqlite = Pick<Evidence, "withoutWal" | "wal" | "isCutOff">;

const unknownWal: LogOfSqlite = { withoutWal: undefined, wal: undefined, isCutOff: false };

/** SQLite keeps its locks at the first byte behind a gibibyte, and never writes the page around it. */
const lockPage = (pageSize: number): number => 2 ** 30 / pageSize + 1;

/** Each in the order in which a process that works on them meanwhile would make it only newer. */
const lookAtWal = (files: StoreFiles): LogOfSqlite => {
  if ((sizeOf(files.wal) ?? 0) === 0 || (sizeOf(files.database) ?? 0) === 0) return unknownWal;
  const count = lookInto(files.database, (database) => Number(database.prepare("PRAGMA page_count").get()?.page_count));
  const wal = readWal(files.wal);
  const withoutWal = lookAtDatabase(files.database, true);
  // SQLite sees by itself that a database without a log is too short.
  let isCutOff = false;
  if (typeof count === "number" && wal.pageSize > 0) {
    const whole = Math.floor((sizeOf(files.database) ?? 0) / wal.pageSize);
    for (let page = whole + 1; page <= count && !isCutOff; page++) isCutOff = page !== lockPage(wal.pageSize) && !wal.pages.has(page);
  }
  return { withoutWal, wal, isCutOff };
};

/** @param isAlone whether no service uses the store: what that writes all the time has been judged when it started. */
export const gatherEvidence = (files: StoreFiles, isAlone: boolean): Evidence => {
  const { logs, rootKey } = files;
  // The marks first: what is written meanwhile only makes the others newer.
  const marks = lookAtMarks(files.marks);
  const log = isAlone ? lookAtWal(files) : unknownWal;
  return {
    files,
    marks,
    ...log,
    database: lookAtDatabase(files.database),
    logs: isAlone ? [lookAtLog(logs[0]), lookAtLog(logs[1])] : undefined,
    otherFiles: [files.marks, ...logs, files.wal, rootKey].filter((file) => (sizeOf(file) ?? 0) > 0),
  };
};
