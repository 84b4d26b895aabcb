import type { Store } from "../port/store.ts";
import type { Reader } from "./sqlite/embeddedCollection.ts";
import { filterToSql } from "./sqlite/filterToSql.ts";
import { LOOK_UP_ROWS, type ReadTurns } from "./sqlite/readTurns.ts";

/** A look into an index of each. */
export const embeddedCollectionsWith =
  (reader: Reader, turns: ReadTurns): Store["collectionsWith"] =>
  (field, among) =>
    turns.run("one", (spend) =>
      among.filter((name) => {
        spend(LOOK_UP_ROWS, 0);
        const where = filterToSql(name, { [field]: { $exists: true } }, undefined, 1);
        return reader.row(`SELECT id FROM "${name}"${where.text}`, where.parameters) !== undefined;
      }),
    );
