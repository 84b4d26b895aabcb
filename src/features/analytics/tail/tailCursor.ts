import { hash } from "node:crypto";
import { createKeyRing, type KeyRing } from "../../../platform/secrets/keyRing.ts";
import type { Place } from "./heads.ts";

const KEY_ID = "tail";
/** Writers in one cursor; there are as many as nodes have been started within minutes. */
const MOST_WRITERS = 400;

/** Where a reader goes on. */
export interface Position {
  /** When it last got on, or had read all that there was, Unix ms. */
  readonly readAt: number;
  readonly place: Place;
}

/** The key of all cursors of one table. @param identity what only those know who may read the whole table. */
export const cursorKeyRing = (identity: string): KeyRing =>
  createKeyRing([{ id: KEY_ID, key: hash("sha256", `tail ${identity}`, "buffer") }]);

/**
 * A cursor that says nothing: how many events there were is nobody's business who may see only some of them.
 * @param owner all that tells one tail, with its filters, from another; it cannot be read from the cursor.
 */
export const sealPosition = (ring: KeyRing, owner: string, { readAt, place }: Position): string => {
  const text = JSON.stringify([readAt, Object.fromEntries([...place].slice(0, MOST_WRITERS))]);
  return Buffer.from(ring.encrypt(text, owner).ciphertext, "base64").toString("base64url");
};

/** Undefined for what is damaged, was given for something else, or by another store. */
export const openPosition = (ring: KeyRing, owner: string, cursor: string): Position | undefined => {
  const bytes = Buffer.from(cursor, "base64url");
  // Characters that are none of base64url would be passed over.
  if (bytes.toString("base64url") !== cursor) return undefined;
  try {
    const text = ring.decrypt({ keyId: KEY_ID, ciphertext: bytes.toString("base64") }, owner);
    const [readAt, place] = JSON.parse(text) as [number, Record<string, number>];
    return { readAt, place: new Map(Object.entries(place)) };
  } catch {
    return undefined;
  }
};
