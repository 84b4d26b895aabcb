import type { DatabaseSync } from "node:sqlite";
import type { WriteOperation, WriteResult } from "./messages.ts";
import { isDamage, messageOf } from "./sqliteErrors.ts";

export const damaged = (error: unknown): WriteResult => ({
  matched: 0,
  modified: 0,
  upserted: 0,
  deleted: 0,
  failure: { damaged: messageOf(error) },
});

export const rollBack = (database: DatabaseSync): void => {
  // SQLite has ended the transaction by itself after some errors.
  if (database.isTransaction) database.exec("ROLLBACK");
};

type Execute = (operation: WriteOperation) => WriteResult;

/** Whether it meets damage by itself. Nothing of it stays. */
const meetsDamage = (database: DatabaseSync, execute: Execute, operation: WriteOperation): unknown => {
  try {
    database.exec("BEGIN IMMEDIATE");
    execute(operation);
    return undefined;
  } catch (error) {
    if (isDamage(error)) return error;
    throw error;
  } finally {
    rollBack(database);
  }
};

/**
 * Results of all operations, in a transaction that is left open. Once one has met damage SQLite refuses all that comes behind it in the
 * transaction. So each of them is then tried by itself, and all begin again without those that meet damage; only where one of the rest does
 * so by what others did before it, once more.
 */
export const executeBatch = (database: DatabaseSync, operations: readonly WriteOperation[], execute: Execute): readonly WriteResult[] => {
  const failed = new Map<number, WriteResult>();
  for (let isFirst = true; ; isFirst = false) {
    let position = 0;
    try {
      database.exec("BEGIN IMMEDIATE");
      const results: WriteResult[] = [];
      for (; position < operations.length; position++) {
        results.push(failed.get(position) ?? execute(operations[position] as WriteOperation));
      }
      return results;
    } catch (error) {
      if (!isDamage(error)) throw error;
      rollBack(database);
      // Not one of them met it.
      if (position === operations.length || failed.has(position)) throw error;
      failed.set(position, damaged(error));
    }
    for (let next = position + 1; isFirst && next < operations.length; next++) {
      const error = meetsDamage(database, execute, operations[next] as WriteOperation);
      if (error !== undefined) failed.set(next, damaged(error));
    }
  }
};
