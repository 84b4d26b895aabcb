import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { StoreDamagedError } from "../../port/errors.ts";
import { openDatabase } from "../sqlite/openDatabase.ts";
import { collectionNames } from "../sqlite/schema.ts";
import { damageAdvice, isDamage, messageOf } from "../sqlite/sqliteErrors.ts";
import { type StoreFiles, sizeOf } from "../storeFiles.ts";

/** The first problem is enough: a file that is damaged all over has thousands. */
const MOST_PROBLEMS = 1;

const isThere = (file: string): boolean => (sizeOf(file) ?? 0) > 0;

/** Other files show that the state file had content, and it has none. */
const missingState = ({ database, wal, counters, rootKey }: StoreFiles): string | undefined => {
  if (isThere(database)) return undefined;
  const others = [wal, counters, rootKey].filter(isThere).map((file) => basename(file));
  if (others.length === 0) return undefined;
  const state = sizeOf(database) === undefined ? "missing" : "empty";
  return `${database} is ${state}, although ${others.join(", ")} ${others.length === 1 ? "is" : "are"} there`;
};

/** Throws `StoreDamagedError` where the state file is missing or empty, and other files show that there was one. */
export const refuseMissingState = (files: StoreFiles): void => {
  const missing = missingState(files);
  if (missing !== undefined) throw new StoreDamagedError(`${missing}: ${damageAdvice}`);
};

/** A line of the answer, such as "Tree 12 page 34: …"; some begin with "*** in database main ***". */
const firstProblem = (database: DatabaseSync, part: string | number): string | undefined =>
  database
    .prepare(`PRAGMA integrity_check(${part})`)
    .all()
    .flatMap((row) => String(Object.values(row)[0]).split("\n"))
    .find((line) => line !== "ok" && !line.startsWith("***"));

const integrityProblem = (database: DatabaseSync, isUsed: boolean): string | undefined => {
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type='table'")
    .all()
    .map(({ name }) => String(name));
  for (const part of isUsed ? tables.map((name) => `"${name}"`) : [MOST_PROBLEMS]) {
    const problem = firstProblem(database, part);
    if (problem !== undefined) return problem;
  }
  for (const name of collectionNames.filter((name) => tables.includes(name))) {
    const broken = Number(database.prepare(`SELECT count(*) AS count FROM "${name}" WHERE NOT json_valid(doc)`).get()?.count);
    if (broken > 0) return `${broken} ${broken === 1 ? "row" : "rows"} of ${name} hold no JSON`;
  }
  return undefined;
};

/**
 * What is wrong with the state file, such as "/data/latchkey.sqlite is damaged (…)"; undefined when nothing is. Runs SQLite's
 * integrity check, which reads the whole file: a minute where it is large. Throws `StoreUnavailableError`.
 * @param isUsed a service uses the file: it is read table by table, so that the service can empty its log in between, and free pages are left out.
 */
export const findDamage = (files: StoreFiles, isUsed: boolean): string | undefined => {
  const missing = missingState(files);
  if (missing !== undefined || !isThere(files.database)) return missing;
  const damaged = (problem: string): string => `${files.database} is damaged (${problem})`;
  try {
    const database = openDatabase(files.database, { readOnly: true });
    try {
      const problem = integrityProblem(database, isUsed);
      return problem === undefined ? undefined : damaged(problem);
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof StoreDamagedError) return damaged(messageOf(error.cause));
    if (isDamage(error)) return damaged(messageOf(error));
    throw error;
  }
};
