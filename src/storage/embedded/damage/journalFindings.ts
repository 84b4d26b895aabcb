import { basename } from "node:path";
import { counted } from "../../../util/counted.ts";
import { afterOf } from "../counters/logRecords.ts";
import { type Evidence, type LogEvidence, trustedMarks } from "./evidence.ts";
import type { Finding } from "./finding.ts";

type Logs = NonNullable<Evidence["logs"]>;

const judgeLog = (log: LogEvidence, evidence: Evidence): Finding | undefined => {
  const { database } = evidence;
  const isExpected = (trustedMarks(evidence)?.record ?? 0) > 0;
  const found = (what: string, lost = "the counts of rate limits in it"): Finding => ({ kind: "log", file: log.file, what, lost });
  if (isExpected && log.size === undefined) return found("is missing");
  if (isExpected && log.size === 0) return found("is empty");
  const isForeign = database.state === "named" ? database.store !== log.store : database.state === "unnamed";
  if (log.store !== undefined && isForeign) return found("is of another store");
  if (isExpected && log.store === undefined) return found("is damaged at its beginning", "the counts of rate limits that were there");
  if (log.damagedBytes === 0 && log.missing === 0) return undefined;
  const records = log.missing === 0 ? "what was written there" : counted(log.missing, "record");
  return found(
    log.damagedBytes > 0 ? `has ${counted(log.damagedBytes, "byte")} of damage` : "is damaged",
    `${records} of rate limit counts`,
  );
};

const inOrder = (logs: Logs): Logs => logs.toSorted((one, another) => one.last - another.last) as [LogEvidence, LogEvidence];

/** What the end of the older log lacks, by the first record of the newer one. */
export const gapBetween = (
  logs: Evidence["logs"],
): { readonly older: LogEvidence; readonly newer: LogEvidence; readonly missing: number } | undefined => {
  if (logs === undefined) return undefined;
  const [older, newer] = inOrder(logs);
  if (older.first === undefined || newer.first === undefined) return undefined;
  const missing = afterOf(newer.first) - older.last;
  return missing > 0 ? { older, newer, missing } : undefined;
};

/** Records that the end of the journal lacks, or the end of the file that was written before the other. */
const judgeEnds = (evidence: Evidence): Finding | undefined => {
  const { logs } = evidence;
  const record = trustedMarks(evidence)?.record ?? 0;
  if (logs === undefined || record === 0) return undefined;
  const [older, newer] = inOrder(logs);
  const what = "is cut off, or older than the files beside it";
  const short = ({ file }: LogEvidence, missing: number): Finding => ({
    kind: "log",
    file,
    what,
    lost: `the last ${counted(missing, "record")} of rate limit counts`,
  });
  // Of two files without records nobody knows which one had some.
  if (newer.last === 0) {
    return { kind: "log", file: older.file, what: `or ${basename(newer.file)} ${what}`, lost: "the counts of rate limits that were there" };
  }
  if (newer.last < record) return short(newer, record - newer.last);
  const gap = gapBetween(logs);
  return gap && short(gap.older, gap.missing);
};

/** What is wrong with the counters' journal. */
export const judgeJournal = (evidence: Evidence): readonly Finding[] => {
  const found = (evidence.logs ?? []).flatMap((log) => judgeLog(log, evidence) ?? []);
  if (found.length > 0) return found;
  const ends = judgeEnds(evidence);
  return ends === undefined ? [] : [ends];
};
