import { StoreDamagedError } from "../../port/errors.ts";
import { indexes } from "../../port/indexes.ts";

/** Result codes by which SQLite says that the file or the machine is at fault, not the statement. */
const unavailable = new Set([
  5, // BUSY
  6, // LOCKED
  7, // NOMEM
  8, // READONLY
  9, // INTERRUPT
  10, // IOERR
  13, // FULL
  14, // CANTOPEN
  15, // PROTOCOL
]);
/** Others hold the file for longer than this process waits: it is there. */
const busy = new Set([
  5, // BUSY
  6, // LOCKED
]);
/** What the file holds is not what SQLite wrote. */
const damage = new Set([
  11, // CORRUPT
  26, // NOTADB
]);
const READONLY_ROLLBACK = 776;
const CONSTRAINT_PRIMARYKEY = 1555;
const CONSTRAINT_UNIQUE = 2067;

/** The extended result code of an error from node:sqlite; its low byte is the primary one. */
const codeOf = (error: unknown): number =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode : 0;

export const isUnavailability = (error: unknown): boolean => unavailable.has(codeOf(error) & 0xff);

/** A change was interrupted by a crash, and only who may write can undo it. */
export const isInterrupted = (error: unknown): boolean => codeOf(error) === READONLY_ROLLBACK;

export const isBusy = (error: unknown): boolean => busy.has(codeOf(error) & 0xff);

export const isDamage = (error: unknown): boolean => damage.has(codeOf(error) & 0xff);

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What to do about a damaged state file, as the end of a sentence. */
export const damageAdvice = 'run "latchkey doctor" to check all of it, "latchkey repair" to restore a backup';

/** The error of a call that met a damaged part of the file. @param reason SQLite's. */
export const damagedPart = (file: string, reason: string, cause?: unknown): StoreDamagedError =>
  new StoreDamagedError(`${file} is damaged (${reason}): ${damageAdvice}`, { cause });

/** The declared name of the unique index that refused a write, `_id` for the primary key. */
export const duplicateIn = (error: unknown): string | undefined => {
  const code = codeOf(error);
  if (code === CONSTRAINT_PRIMARYKEY) return "_id";
  if (code !== CONSTRAINT_UNIQUE || !(error instanceof Error)) return undefined;
  // "UNIQUE constraint failed: keys.workspaceId, keys.hash"
  const columns = Array.from(error.message.matchAll(/(\w+)\.(\w+)/g), ([, collection, field]) => `${collection}.${field}`).join();
  return indexes.find(({ collection, fields }) => fields.map((field) => `${collection}.${field}`).join() === columns)?.name;
};
