import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../domain/clock.ts";
import { looksLikeRootKey } from "../../../domain/secrets/rootKeySecret.ts";
import { counted } from "../../../util/counted.ts";
import { SCHEMA_VERSION } from "../../port/baseDocument.ts";
import { SchemaTooNewError } from "../../schemaVersion.ts";
import { afterOf, decodeRecords, encodeRecord, headOf, movedBehind, readHead } from "../counters/logRecords.ts";
import { replaceMarks } from "../marks.ts";
import { isServerLockTaken, refuseSecondServer, refuseWhileOpen, takeServerLock } from "../serverLock.ts";
import { nameStore } from "../sqlite/storeRow.ts";
import { createPrivately, filesIn, removeDatabase, type StoreFiles, sizeOf } from "../storeFiles.ts";
import { syncDirectory } from "../syncDirectory.ts";
import { writeForOwner } from "../writeForOwner.ts";
import { type Evidence, gatherEvidence, lookAtDatabase, lookInto } from "./evidence.ts";
import type { Finding } from "./finding.ts";
import { findingsBeside, lockFinding } from "./findings.ts";
import { damageIn } from "./integrity.ts";
import { undoInterrupted } from "./interrupted.ts";
import { gapBetween } from "./journalFindings.ts";
import { createQuarantine } from "./quarantine.ts";
import { salvage } from "./salvage.ts";

/**
 * All that is wrong with the embedded store of a directory, found without changing anything; reads the whole database. Where
 * a service uses it, the journal of counters, which that one found well, is left out.
 */
export const examineStore = (directory: string): readonly Finding[] => {
  const files = filesIn(directory);
  const lock = (sizeOf(files.lock) ?? 0) > 0 ? [lockFinding(files.lock)] : [];
  return [...lock, ...examine(files, () => isServerLockTaken(files.lock))];
};

const examine = (files: StoreFiles, isUsed: () => boolean): readonly Finding[] => {
  const findings = [...findingsBeside(files, isUsed), ...judgeRootKey(files.rootKey)];
  const isReadable = (sizeOf(files.database) ?? 0) > 0 && !findings.some(({ kind }) => ["unreadable", "wal", "foreign"].includes(kind));
  const reason = isReadable ? damageIn(files.database, isUsed()) : undefined;
  if (reason === undefined) return findings;
  return [
    { kind: "unreadable", file: files.database, what: `is damaged (${reason})`, lost: "what cannot be read in it any more" },
    ...findings,
  ];
};

/** The service does not need it: a start does without. */
const judgeRootKey = (file: string): readonly Finding[] => {
  if (sizeOf(file) === undefined || looksLikeRootKey(readFileSync(file, "utf8").trim())) return [];
  return [{ kind: "rootKey", file, what: "holds no root key any more", lost: 'it ("latchkey root-key create" makes another one)' }];
};

/** What this version does not know it would leave out of a new database. */
const refuseNewer = (file: string): void => {
  if ((sizeOf(file) ?? 0) === 0) return;
  const version = lookInto(file, (database) => {
    if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name='system'").get() === undefined) return 0;
    // The schema of a store that is being restored is no version's.
    const sql =
      "SELECT json_extract(doc, '$.schema') AS version FROM system WHERE id='schema' AND json_extract(doc, '$.restoring') IS NULL";
    return Number(database.prepare(sql).get()?.version ?? 0);
  });
  if (typeof version === "number" && version > SCHEMA_VERSION) throw new SchemaTooNewError(version);
};

const ownsWal = ({ database, withoutWal }: Evidence): boolean =>
  database.state === "named" && withoutWal?.state === "named" && database.store === withoutWal.store;

/**
 * Makes a store that can be opened of what is there. Nothing is deleted: what it replaces keeps its contents under another
 * name. Throws when a service uses the directory, and for a database of a newer version.
 * @returns one line for each step: what was wrong, what was done, and what is lost.
 */
export const repairStore = (directory: string, clock: Clock): readonly string[] => {
  const files = filesIn(directory);
  const suffix = `.damaged-${new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
  const told: string[] = [];
  const { setAside, keepCopy } = createQuarantine(files.database, suffix);
  /** Whole as soon as it has this name. */
  const next = `${files.database}.new`;

  /** @param isJudged whether what the logs lack has been told, so that their mark may say less. */
  const mark = ({ database, logs, marks }: Evidence, isJudged: boolean): void => {
    if (database.state !== "named") return;
    const { store, commits } = database;
    const ours = (logs ?? []).filter((log) => log.store === store);
    const isKnown = typeof marks !== "string" && marks.store === store;
    // Until both logs name the store, their mark is what tells that one is missing or damaged. Where one does, so must the other.
    const last = ours.length === 2 ? Math.max(...ours.map((log) => log.last)) : ours.length;
    replaceMarks(files, { store, commits, record: isKnown && (!isJudged || ours.length < 2) ? marks.record : last });
  };

  /** One from before there were marks. */
  const nameAfter = (marks: Evidence["marks"]): void => {
    if (typeof marks === "string") return;
    const database = new DatabaseSync(files.database);
    nameStore(database, marks.store);
    database.close();
  };

  /** A new log of those records that are whole, each of which says after which one it comes. @param after the last record of the log before it */
  const rewriteLog = (file: string, store: string, after?: number): string => {
    const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
    const head = readHead(bytes);
    const isForeign = head !== undefined && head.store !== store;
    const parts = [encodeRecord(headOf(store))];
    let before = after;
    for (const record of isForeign ? [] : decodeRecords(bytes, head?.end ?? 0, {})) {
      if (record.number === 0) continue;
      const isNext = before === undefined || afterOf(record) <= before;
      parts.push(encodeRecord(isNext ? record : movedBehind(record, before)));
      before = record.number;
    }
    const draft = `${file}.new`;
    rmSync(draft, { force: true });
    writeForOwner(draft, Buffer.concat(parts), file, files.database, directory);
    const kept = keepCopy(file);
    renameSync(draft, file);
    const count = parts.length - 1;
    return `${count === 0 ? "an empty one takes its place" : `${counted(count, "record")} of it go on`}${kept}`;
  };

  /** A database that is missing while this one is there tells that this began and did not end. */
  const exchange = (): string => {
    const kept = setAside(...[files.database, files.wal, files.journal].filter((file) => (sizeOf(file) ?? 0) > 0));
    removeDatabase(files.database);
    renameSync(next, files.database);
    syncDirectory(directory);
    return kept;
  };

  const finishExchange = (): void => {
    if (sizeOf(files.database) !== undefined || lookAtDatabase(next, true).state !== "named") return;
    told.push(`${files.database} is missing: the new one of a repair that did not end takes its place${exchange()}`);
  };

  const replaceDatabase = ({ database, marks }: Evidence): string => {
    const known = database.state === "named" ? database : typeof marks === "string" ? undefined : marks;
    const draft = `${files.database}.part`;
    const row = { store: known?.store ?? randomBytes(16).toString("hex"), commits: known?.commits ?? 0 };
    const salvaged = salvage(files.database, draft, row);
    renameSync(draft, next);
    syncDirectory(directory);
    const kept = exchange();
    // The next start would write another one over it.
    const rootKey = salvaged.some(({ collection, kept: some }) => collection === "rootKeys" && some > 0) ? "" : setAside(files.rootKey);
    const rows = salvaged.filter(({ kept: some, lost }) => some + lost > 0);
    const counts = rows.map(({ collection, kept: some, lost }) => `${collection} ${some}${lost > 0 ? ` (${lost} lost)` : ""}`).join(", ");
    return `rows that could be read are in a new file: ${counts || "none"}${kept}${rootKey}`;
  };

  const act = ({ kind, file }: Finding, evidence: Evidence): string => {
    switch (kind) {
      case "lock":
        return `it goes out of the way${setAside(file)}`;
      case "gone":
        return `a new store begins${setAside(...evidence.otherFiles, files.database, files.shm, files.journal)}`;
      case "rootKey":
        return `it goes out of the way${setAside(file)}`;
      case "wal": {
        const kept = setAside(files.wal, files.shm);
        // Its commits have been told; else they are found to be missing next.
        if (file === files.database) mark(gatherEvidence(files, true), false);
        return `the store goes on without ${basename(files.wal)}${kept}`;
      }
      case "unreadable":
        return replaceDatabase(evidence);
      case "behind": {
        const kept = keepCopy(files.wal);
        if (evidence.database.state === "unnamed") nameAfter(evidence.marks);
        mark(gatherEvidence(files, true), false);
        return `the store goes on as it is${kept}`;
      }
      case "foreign":
        return `the store that it is of goes on${setAside(files.marks, ...files.logs, ...(ownsWal(evidence) ? [] : [files.wal, files.shm]))}`;
      case "marks": {
        const kept = setAside(files.marks);
        mark(evidence, false);
        return `the store goes on as it is${kept}`;
      }
      case "log": {
        if (evidence.database.state !== "named") return `it goes out of the way${setAside(file)}`;
        const { store } = evidence.database;
        const done = rewriteLog(file, store);
        const rewritten = gatherEvidence(files, true);
        const gap = gapBetween(rewritten.logs);
        const joined =
          gap === undefined ? "" : `; ${basename(gap.newer.file)} comes after it: ${rewriteLog(gap.newer.file, store, gap.older.last)}`;
        mark(rewritten, true);
        return `${done}${joined}`;
      }
    }
  };

  const step = (finding: Finding): void => {
    const done = act(finding, gatherEvidence(files, true));
    told.push(`${finding.file} ${finding.what}: ${done}. Lost: ${finding.lost}.`);
  };

  refuseSecondServer(files.lock, directory);
  if ((sizeOf(files.lock) ?? 0) > 0) step(lockFinding(files.lock));
  if (!existsSync(directory)) return told;
  createPrivately(files.lock);
  const release = takeServerLock(files.lock, directory);
  try {
    undoInterrupted(files);
    finishExchange();
    refuseNewer(files.database);
    // Each step ends one finding for good; a bound, in case two of them undo each other.
    for (let steps = 0; steps < 20; steps++) {
      const [finding] = examine(files, () => false);
      if (finding === undefined) {
        syncDirectory(directory);
        return told;
      }
      if (steps === 0) refuseWhileOpen(files.database);
      step(finding);
    }
    throw new Error(`${directory} could not be repaired: ${told.at(-1)}`);
  } finally {
    release();
  }
};
