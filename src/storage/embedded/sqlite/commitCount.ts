import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type MarkWriter, openMark } from "../marks.ts";
import type { StoreRow } from "./storeRow.ts";

/** Counts the commits of a connection: in the row of its store, and once they are on disk in `Marks`. */
export interface CommitCount {
  /** In each transaction, behind what it does. One that changes nothing stays so, and needs no commit. */
  readonly raise: () => void;
  /** After each commit: whoever is told of it may rely on it. */
  readonly committed: () => void;
  readonly close: () => void;
}

/** Costs a page in each commit, which waits for the disk anyway, and 64 bytes for which nobody waits. Nothing is counted before the file of the marks is there. */
export const createCommitCount = (database: DatabaseSync, marks: string): CommitCount => {
  let statements: { readonly changes: StatementSync; readonly raise: StatementSync } | undefined;
  let mark: MarkWriter | undefined;
  /** Changes of this connection when the last transaction ended. */
  let changes = 0;
  /** By the transaction that is open. */
  let raised: StoreRow | undefined;

  return {
    raise: () => {
      raised = undefined;
      mark ??= openMark(marks, "commits");
      if (mark === undefined) return;
      statements ??= {
        changes: database.prepare("SELECT total_changes() AS n"),
        raise: database.prepare("UPDATE store SET commits=commits+1 RETURNING id AS store, commits"),
      };
      const now = Number(statements.changes.get()?.n);
      if (now === changes) return;
      raised = statements.raise.get() as unknown as StoreRow | undefined;
      changes = now + 1;
    },
    committed: () => {
      if (raised !== undefined) mark?.writeNow(raised.store, raised.commits);
    },
    close: () => mark?.close(),
  };
};
