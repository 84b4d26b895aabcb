import { basename } from "node:path";
import { StoreDamagedError } from "../errors.ts";
import { type Evidence, gatherEvidence, type LogEvidence } from "./evidence.ts";
import { afterOf } from "./logRecords.ts";
import type { StoreFiles } from "./storeFiles.ts";

/** Something that a file of the store lacks, or has too much. */
export interface Finding {
  readonly kind: "gone" | "wal" | "unreadable" | "behind" | "foreign" | "marks" | "log" | "lock";
  /** Path of the file. */
  readonly file: string;
  /** What is wrong with it, as the end of a sentence about it. */
  readonly what: string;
  /** What is lost when the store goes on as it is, as the end of a sentence. */
  readonly lost: string;
}

const counted = (n: number, noun: string): string => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

const names = (files: readonly string[]): string => files.map((file) => basename(file)).join(", ");

export const lockFinding = (file: string): Finding => ({
  kind: "lock",
  file,
  what: "holds something, and should be an empty file",
  lost: "it",
});

/** A log that does not belong to the database beside it makes nonsense of that, or another store. */
const judgeWal = ({ files, database, withoutWal, marks }: Evidence): Finding | undefined => {
  if (withoutWal?.state !== "named") return undefined;
  const isAsGood = database.state === "named" && database.commits >= withoutWal.commits;
  const isAtHome = typeof marks === "string" || marks.store === withoutWal.store;
  const isForeign = database.state === "named" && database.store !== withoutWal.store;
  if (!isAtHome || (isAsGood && !isForeign)) return undefined;
  const what = isForeign ? "is of another store" : "does not belong to the database beside it, or is damaged";
  return { kind: "wal", file: files.wal, what, lost: "the commits that were in the right one" };
};

const judgeDatabase = (evidence: Evidence): Finding | undefined => {
  const { files, database, withoutWal, marks, otherFiles } = evidence;
  const wal = judgeWal(evidence);
  if (wal !== undefined) return wal;
  const { state } = database;
  const file = files.database;
  if (state === "missing" || state === "empty") {
    if (otherFiles.length === 0) return undefined;
    return {
      kind: "gone",
      file,
      what: `is ${state}, while ${names(otherFiles)} beside it ${otherFiles.length === 1 ? "is" : "are"} there`,
      lost: "all that was in it",
    };
  }
  if (state === "unreadable")
    return { kind: "unreadable", file, what: `is damaged (${database.reason})`, lost: "what cannot be read in it any more" };
  if (typeof marks === "string") return undefined;
  const missing = marks.commits - (state === "named" ? database.commits : 0);
  if (state === "named" && database.store !== marks.store) return undefined;
  if (state === "named" && missing <= 0) return undefined;
  const commits = missing > 0 ? `the last ${counted(missing, "commit")}` : "commits";
  const lost = "them";
  if (withoutWal !== undefined)
    return { kind: "behind", file: files.wal, what: `is damaged, or not the latest: it lacks ${commits}`, lost };
  return {
    kind: "behind",
    file,
    what: `lacks ${commits}: it is older than the files beside it, or ${names([files.wal])} was removed`,
    lost,
  };
};

const judgeMarks = ({ files, database, marks, logs }: Evidence): Finding | undefined => {
  if (database.state !== "named")
    return marks === "damaged" ? { kind: "marks", file: files.marks, what: "is damaged", lost: "nothing else" } : undefined;
  if (marks === "missing" && database.commits === 0) return undefined;
  const lost = `the proof that ${basename(files.database)} is the latest`;
  if (typeof marks === "string") return { kind: "marks", file: files.marks, what: `is ${marks}`, lost };
  if (marks.store === database.store) return undefined;
  // Whoever agrees with the journal is at home here.
  if (logs?.some(({ store }) => store === marks.store) && !logs.some(({ store }) => store === database.store)) {
    return { kind: "foreign", file: files.database, what: "is of another store than the files beside it", lost: "those" };
  }
  return { kind: "marks", file: files.marks, what: `is of another store than ${basename(files.database)}`, lost };
};

const judgeLog = (log: LogEvidence, { database, marks }: Evidence): Finding | undefined => {
  const isExpected = typeof marks !== "string" && marks.record > 0;
  const found = (what: string, lost: string): Finding => ({ kind: "log", file: log.file, what, lost });
  const counts = "the counts of rate limits in it";
  if (isExpected && log.size === undefined) return found("is missing", counts);
  if (isExpected && log.size === 0) return found("is empty", counts);
  if (log.store !== undefined && database.state === "named" && log.store !== database.store) return found("is of another store", counts);
  const records = log.missing === 0 ? "what was written there" : counted(log.missing, "record");
  if (isExpected && log.store === undefined) return found("is damaged at its beginning", "the counts of rate limits that were there");
  if (log.damagedBytes > 0) return found(`has ${counted(log.damagedBytes, "byte")} of damage`, `${records} of rate limit counts`);
  if (log.missing > 0) return found(`lacks ${records}`, "them");
  return undefined;
};

/** Records that the end of the journal lacks, or the end of the file that was written before the other. */
const judgeEnds = ({ marks, logs }: Evidence): Finding | undefined => {
  if (logs === undefined || typeof marks === "string" || marks.record === 0) return undefined;
  const [older, newer] = logs.toSorted((one, another) => (one.first?.number ?? 0) - (another.first?.number ?? 0)) as [
    LogEvidence,
    LogEvidence,
  ];
  const short = (log: LogEvidence, missing: number): Finding => ({
    kind: "log",
    file: log.file,
    what: `is cut off or older than the files beside it: it lacks ${counted(missing, "record")} of rate limit counts or more`,
    lost: "them",
  });
  const last = Math.max(older.last, newer.last);
  if (last < marks.record) return short(newer.last < older.last ? older : newer, marks.record - last);
  if (older.first !== undefined && newer.first !== undefined && afterOf(newer.first) > older.last) {
    return short(older, afterOf(newer.first) - older.last);
  }
  return undefined;
};

/** What is wrong with the files of a store, the most important first; nothing after an ordinary crash. */
export const findingsIn = (evidence: Evidence): readonly Finding[] => {
  const database = judgeDatabase(evidence);
  // The others would be judged by it.
  if (database?.kind === "gone" || database?.kind === "wal") return [database];
  const logs = (evidence.logs ?? []).flatMap((log) => judgeLog(log, evidence) ?? []);
  const ends = logs.length === 0 ? judgeEnds(evidence) : undefined;
  return [database, judgeMarks(evidence), ...logs, ends].filter((finding) => finding !== undefined);
};

/** Rejects files that lack something, before anything is opened for writing. @param withLogs see `gatherEvidence`. */
export const refuseDamage = (files: StoreFiles, withLogs: boolean): void => {
  const [first, ...others] = findingsIn(gatherEvidence(files, withLogs));
  if (first !== undefined) throw damageError([first, ...others]);
};

/** One sentence about what was found. */
export const damageError = (findings: readonly [Finding, ...Finding[]]): StoreDamagedError => {
  const [{ file, what, lost }, ...others] = findings;
  const more = others.length === 0 ? "" : ` (and ${others.length} more, see "latchkey doctor")`;
  return new StoreDamagedError(`${file} ${what}: put the right file back, or let "latchkey repair" go on without ${lost}${more}`);
};
