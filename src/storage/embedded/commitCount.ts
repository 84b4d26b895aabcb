import type { DatabaseSync, StatementSync } from "node:sqlite";
import { systemClock } from "../../domain/clock.ts";
import { type MarkWriter, openMark } from "./marks.ts";

/** A page more in a commit is not felt ten times a second. */
const PAUSE_MS = 100;

/** Counts the commits of a connection: in the row of its store, and once they are on disk in `Marks`. */
export interface CommitCount {
  /** In each transaction, behind what it does. One that changes nothing stays so, and needs no commit. */
  readonly raise: () => void;
  /** After each commit. */
  readonly committed: () => void;
  readonly close: () => void;
}

/**
 * The first commit of a process is counted in the database, and then one every tenth of a second, with those before it that
 * were not. Nothing is counted before the file of the marks is there.
 */
export const createCommitCount = (database: DatabaseSync, marks: string): CommitCount => {
  let statements: { readonly changes: StatementSync; readonly raise: StatementSync } | undefined;
  let mark: MarkWriter | undefined;
  /** Changes of this connection when the last transaction ended. */
  let changes = 0;
  let uncounted = 0;
  let countedAt: number | undefined;
  /** By the transaction that is open. */
  let raised: { readonly store: string; readonly commits: number } | undefined;
  let hasChanged = false;

  return {
    raise: () => {
      raised = undefined;
      hasChanged = false;
      mark ??= openMark(marks, "commits");
      if (mark === undefined) return;
      statements ??= {
        changes: database.prepare("SELECT total_changes() AS n"),
        raise: database.prepare("UPDATE store SET commits=commits+? RETURNING id AS store, commits"),
      };
      const now = Number(statements.changes.get()?.n);
      if (now === changes) return;
      hasChanged = true;
      changes = now;
      if (countedAt !== undefined && systemClock.monotonic() - countedAt < PAUSE_MS) return;
      raised = statements.raise.get(uncounted + 1) as typeof raised;
      changes++;
    },
    committed: () => {
      if (!hasChanged) return;
      uncounted++;
      if (raised === undefined) return;
      uncounted = 0;
      countedAt = systemClock.monotonic();
      mark?.writeNow(raised.store, raised.commits);
    },
    close: () => mark?.close(),
  };
};
