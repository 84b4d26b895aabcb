import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { CollectionName } from "../port/documents.ts";
import type { SystemDocument } from "../port/internalDocuments.ts";
import type { StoreLook } from "../port/storeLook.ts";
import { refuseMissingState } from "./damage/findDamage.ts";
import { readStored } from "./sqlite/documentText.ts";
import { openDatabase } from "./sqlite/openDatabase.ts";
import { changesDue, collectionNames } from "./sqlite/schema.ts";
import { filesIn } from "./storeFiles.ts";

const look = (database: DatabaseSync): StoreLook => {
  const tables = new Set(
    database
      .prepare("SELECT name FROM sqlite_schema WHERE type='table'")
      .all()
      .map(({ name }) => name),
  );
  const value = (name: CollectionName, sql: string): unknown => (tables.has(name) ? database.prepare(sql).get()?.value : undefined);
  const schema = value("system", "SELECT doc AS value FROM system WHERE id='schema'");
  return {
    schema: typeof schema === "string" ? (readStored("system", schema) as unknown as SystemDocument) : null,
    changes: collectionNames.flatMap((name) => changesDue(database, name)),
    count: async (name) => Number(value(name, `SELECT count(*) AS value FROM "${name}"`) ?? 0),
    // One that is older than a command that opens the store refuses that command by itself.
    nodes: [],
  };
};

/** Looks at the embedded store of a directory, beside a service as well. Rejects with `StoreDamagedError` where the state file is damaged or missing. */
export const lookAtEmbedded = async <T>(directory: string, use: (look: StoreLook) => Promise<T>): Promise<T> => {
  const files = filesIn(directory);
  refuseMissingState(files);
  const database = existsSync(files.database) ? openDatabase(files.database, { readOnly: true }) : new DatabaseSync(":memory:");
  try {
    return await use(look(database));
  } finally {
    database.close();
  }
};
