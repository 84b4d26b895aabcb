import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";
import type { Place } from "./heads.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Writers in one cursor; there are as many as nodes have been started within minutes. */
const MOST_WRITERS = 400;

/** Where a reader goes on. */
export interface Position {
  /** When it last got on, or had read all that there was, Unix ms. */
  readonly readAt: number;
  readonly place: Place;
}

/** The key of all cursors of one table. @param identity what only those know who may read the whole table. */
export const cursorKey = (identity: string): Buffer => hash("sha256", `tail ${identity}`, "buffer");

/**
 * A cursor that says nothing: how many events there were is nobody's business who may see only some of them.
 * @param owner all that tells one tail, with its filters, from another; it cannot be read from the cursor.
 */
export const sealPosition = (key: Buffer, owner: string, { readAt, place }: Position): string => {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(owner));
  const text = JSON.stringify([readAt, Object.fromEntries([...place].slice(0, MOST_WRITERS))]);
  const sealed = [cipher.update(text, "utf8"), cipher.final()];
  return Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]).toString("base64url");
};

/** Undefined for what is damaged, was given for something else, or by another store. */
export const openPosition = (key: Buffer, owner: string, cursor: string): Position | undefined => {
  const bytes = Buffer.from(cursor, "base64url");
  // Characters that are none of base64url would be passed over.
  if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString("base64url") !== cursor) return undefined;
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(owner))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
    const [readAt, place] = JSON.parse(text) as [number, Record<string, number>];
    return { readAt, place: new Map(Object.entries(place)) };
  } catch {
    return undefined;
  }
};
