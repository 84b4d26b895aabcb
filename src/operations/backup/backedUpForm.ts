import type { Fields } from "../../platform/storage/port/applyUpdate.ts";
import type { BackedUpCollection } from "./backedUp.ts";

/**
 * What of a document goes into a backup; undefined: nothing. Sessions of the console end with their store: one that is restored must not
 * revive any. What they still have to tell the audit log is kept, in the form of a session that was ended. Of the store's facts about
 * itself, those about its schema are the other store's own.
 */
export const backedUpForm = (collection: BackedUpCollection, document: Fields, now: number): Fields | undefined => {
  if (collection === "system") return document._id === "schema" ? undefined : document;
  if (collection !== "sessions" && collection !== "failedSignIns") return document;
  if (document.pendingMark === undefined) return undefined;
  if (collection === "failedSignIns") return document;
  const { hash: _, ...session } = document;
  return { ...session, deletedAt: document.deletedAt ?? now, erased: true };
};

/** Collections of which `backedUpForm` leaves every document as it is. */
export const isWhole = (collection: BackedUpCollection): boolean =>
  collection !== "system" && collection !== "sessions" && collection !== "failedSignIns";
