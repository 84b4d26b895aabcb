import { hash } from "node:crypto";

/** 132 bits: enough to tell a mistake. There is nothing to forge, since any place may be asked for. */
const markOf = (owner: string, place: string): string => hash("sha256", JSON.stringify([owner, place]), "base64url").slice(0, 22);

/**
 * A cursor that belongs to what it was given for.
 * @param owner all that tells one list, with its filters, from another; it cannot be read from the cursor.
 * @param place where the next page begins, in a form of the list's own.
 */
export const sealCursor = (owner: string, place: string): string => `${place}.${markOf(owner, place)}`;

/** The place of a cursor, "" for the empty one; undefined for one that is damaged, or was given for something else. */
export const openCursor = (owner: string, cursor: string): string | undefined => {
  if (cursor === "") return "";
  const end = cursor.lastIndexOf(".");
  const place = cursor.slice(0, Math.max(end, 0));
  return cursor.slice(end + 1) === markOf(owner, place) ? place : undefined;
};
