import { DatabaseSync } from "node:sqlite";
import { StoreUnavailableError } from "../../port/errors.ts";
import type { Reader } from "./embeddedCollection.ts";
import { damagedPart, isBusy, isDamage, isUnavailability } from "./sqliteErrors.ts";
import { statementCache } from "./statements.ts";

/** How long a read waits for another process that has the file to itself, in milliseconds. */
const PATIENCE_MS = 1_000;

/** Reads the store's file; what another thread or process has committed before a read begins, it sees. */
export interface FileReader extends Reader {
  /** Does nothing when it is open. The file must be there. */
  readonly open: () => DatabaseSync;
  /** Whoever reads from then on gets `StoreUnavailableError`. */
  readonly close: () => void;
}

/** Nothing is opened yet. */
export const createFileReader = (file: string): FileReader => {
  let database: DatabaseSync | undefined;
  let statement: ReturnType<typeof statementCache> | undefined;

  const reading = <T>(read: (prepared: ReturnType<typeof statementCache>) => T): T => {
    if (statement === undefined) throw new StoreUnavailableError("the embedded store is not open");
    try {
      return read(statement);
    } catch (error) {
      if (isDamage(error)) throw damagedPart(file, (error as Error).message, error);
      if (!isUnavailability(error)) throw error;
      throw new StoreUnavailableError("the embedded store cannot be read", { cause: error, tooSlow: isBusy(error) });
    }
  };

  return {
    open: () => {
      database ??= new DatabaseSync(file, { readOnly: true, timeout: PATIENCE_MS });
      statement ??= statementCache(database);
      return database;
    },
    close: () => {
      statement = undefined;
      database?.close();
      database = undefined;
    },
    row: (sql, parameters) => reading((prepared) => prepared(sql).get(...parameters)),
    rows: (sql, parameters, take) =>
      reading((prepared) => {
        for (const row of prepared(sql).iterate(...parameters)) if (take(row) === "enough") return;
      }),
  };
};
