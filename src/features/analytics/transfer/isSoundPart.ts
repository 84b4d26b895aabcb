import { eventTables } from "./eventTables.ts";
import type { ExportedPart, ExportHeader } from "./manifest.ts";

/** True for a part of one of our tables: what a file says of itself becomes names of files, and of SQL. */
export const isSoundPart = ({ table, day, slice, of }: ExportedPart): boolean =>
  eventTables.some(({ name }) => name === table) &&
  /^\d{4}-\d\d-\d\d$/.test(day) &&
  Number.isSafeInteger(slice) &&
  Number.isSafeInteger(of) &&
  0 <= slice &&
  slice < of;

/** The same for the columns of all tables. */
export const areSoundColumns = (columns: ExportHeader["columns"]): boolean =>
  Object.values(columns)
    .flat()
    .every((column) => /^\w+$/.test(column));
