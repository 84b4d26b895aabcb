import type { CollectionName } from "./documents.ts";

/** What opening a store with this version changes in it, beside its schema version, before anybody uses it. */
export interface PendingChange {
  readonly kind: "add column" | "build index" | "drop index";
  readonly collection: CollectionName;
  /** Of the index, or of the column. */
  readonly name: string;
}
