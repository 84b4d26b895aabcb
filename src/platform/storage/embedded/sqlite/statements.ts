import type { DatabaseSync, StatementSync } from "node:sqlite";

const CAPACITY = 500;

/** Prepared statements by their text. The texts follow from the shapes of filters, so there are few. */
export const statementCache = (database: DatabaseSync): ((text: string) => StatementSync) => {
  const statements = new Map<string, StatementSync>();
  return (text) => {
    let statement = statements.get(text);
    if (statement === undefined) {
      if (statements.size >= CAPACITY) statements.clear();
      statement = database.prepare(text);
      statements.set(text, statement);
    }
    return statement;
  };
};
