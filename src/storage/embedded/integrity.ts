import { lookInto } from "./evidence.ts";
import { collectionNames } from "./schema.ts";

/** Of a file that is damaged all over, the first lines tell enough. */
const MOST_LINES = 5;

/**
 * Reads all of a database, which takes a minute where it is large: every page, whether every index agrees with its table, and
 * whether every text is a document. Returns the first of what is wrong, undefined when nothing is.
 */
export const damageIn = (file: string): string | undefined => {
  const found = lookInto(file, (database) => {
    const lines = database.prepare(`PRAGMA integrity_check(${MOST_LINES})`).all();
    const [first] = lines.map((line) => String(Object.values(line)[0]).replaceAll("\n", " "));
    if (first !== undefined && first !== "ok") return { unreadable: first };
    const tables = new Set(
      database
        .prepare("SELECT name FROM sqlite_schema WHERE type='table'")
        .all()
        .map(({ name }) => name),
    );
    for (const collection of collectionNames) {
      if (!tables.has(collection)) continue;
      const broken = database.prepare(`SELECT count(*) AS n FROM "${collection}" WHERE NOT json_valid(doc)`).get()?.n;
      if (Number(broken) > 0) return { unreadable: `${broken} rows of ${collection} hold no documents` };
    }
    return undefined;
  });
  return found?.unreadable;
};
