import { basename } from "node:path";
import { counted } from "../../../util/counted.ts";
import { type Evidence, trustedMarks } from "./evidence.ts";
import type { Finding } from "./finding.ts";

const names = (files: readonly string[]): string => files.map((file) => basename(file)).join(", ");

const judgeGone = ({ files, database, otherFiles }: Evidence): Finding | undefined => {
  if ((database.state !== "missing" && database.state !== "empty") || otherFiles.length === 0) return undefined;
  const beside = `${names(otherFiles)} beside it ${otherFiles.length === 1 ? "is" : "are"} there`;
  return { kind: "gone", file: files.database, what: `is ${database.state}, while ${beside}`, lost: "all that was in it" };
};

/** The others agree on another store: where they do not, the marks are the ones that do not belong here. */
const judgeForeign = ({ files, database, withoutWal, marks, logs }: Evidence): Finding | undefined => {
  const own = withoutWal ?? database;
  if (own.state !== "named" || typeof marks === "string" || own.store === marks.store) return undefined;
  const isAtHome = logs?.some(({ store }) => store === own.store) ?? false;
  const isAlone = logs?.some(({ store }) => store === marks.store) ?? false;
  if (isAtHome || !isAlone) return undefined;
  return {
    kind: "foreign",
    file: files.database,
    what: "is of another store than the files beside it",
    lost: "the store that those are of",
  };
};

/** A log belongs to the very database that it was begun for: it makes nonsense of every other one, or another store. */
const judgeWal = (evidence: Evidence): Finding | undefined => {
  const { files, database, withoutWal, wal, marks } = evidence;
  if (withoutWal?.state !== "named" || wal === undefined) return undefined;
  if (typeof marks !== "string" && marks.store !== withoutWal.store) return undefined;
  const lost = "the commits that were in the right one";
  if (database.state === "named" && database.store !== withoutWal.store) {
    return { kind: "wal", file: files.wal, what: "is of another store", lost };
  }
  const first = wal.firstCommits(withoutWal.store);
  if (first !== undefined && first - 1 > withoutWal.commits) {
    // The marks may be behind what is in the log.
    const since = Math.max(typeof marks === "string" ? 0 : marks.commits, first) - withoutWal.commits;
    const what = `is older than ${basename(files.wal)} beside it`;
    return { kind: "wal", file: files.database, what, lost: `the last ${counted(since, "commit")}` };
  }
  if (database.state === "named" && database.commits >= withoutWal.commits) return undefined;
  return { kind: "wal", file: files.wal, what: "is damaged, or of another database than the one beside it", lost };
};

const judgeReadable = ({ files, database, isCutOff }: Evidence): Finding | undefined => {
  const lost = "what cannot be read in it any more";
  if (database.state === "unreadable") return { kind: "unreadable", file: files.database, what: `is damaged (${database.reason})`, lost };
  return isCutOff ? { kind: "unreadable", file: files.database, what: "is cut off", lost } : undefined;
};

const judgeCommits = (evidence: Evidence): Finding | undefined => {
  const { files, database, withoutWal } = evidence;
  const marks = trustedMarks(evidence);
  if (marks === undefined || (database.state !== "named" && database.state !== "unnamed")) return undefined;
  const known = database.state === "named" ? database.commits : -1;
  if (known >= marks.commits) return undefined;
  const lost = `the last ${counted(marks.commits - Math.max(0, known), "commit")}`;
  if (withoutWal !== undefined) return { kind: "behind", file: files.wal, what: "is damaged, or not the latest", lost };
  return { kind: "behind", file: files.database, what: `is older than the files beside it, or ${basename(files.wal)} was removed`, lost };
};

const judgeMarks = ({ files, database, marks }: Evidence): Finding | undefined => {
  const file = files.marks;
  const lost = `the proof that ${basename(files.database)} is the latest`;
  if (marks === "damaged") return { kind: "marks", file, what: "is damaged", lost };
  if (database.state !== "named") return undefined;
  if (marks === "missing") return database.commits === 0 ? undefined : { kind: "marks", file, what: "is missing", lost };
  return marks.store === database.store
    ? undefined
    : { kind: "marks", file, what: `is of another store than ${basename(files.database)}`, lost };
};

/** @returns what is wrong with the database and its marks, and whether the journal can be judged by them. */
export const judgeDatabase = (evidence: Evidence): readonly [findings: readonly Finding[], isBasis: boolean] => {
  const alone = judgeGone(evidence) ?? judgeForeign(evidence) ?? judgeWal(evidence);
  if (alone !== undefined) return [[alone], false];
  const own = judgeReadable(evidence) ?? judgeCommits(evidence);
  return [[own, judgeMarks(evidence)].filter((finding) => finding !== undefined), true];
};
