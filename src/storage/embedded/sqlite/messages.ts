import type { Fields } from "../../port/applyUpdate.ts";
import type { CollectionName } from "../../port/documents.ts";
import type { ColumnValue } from "./columns.ts";

/** What the main thread asks of the writer. Each touches one document at a time, all or nothing; `put`, `bulk`: one after the other. */
export type WriteOperation =
  | {
      readonly kind: "insert";
      readonly collection: CollectionName;
      readonly id: string;
      readonly text: string;
      readonly columns: readonly ColumnValue[];
    }
  | {
      readonly kind: "update";
      readonly collection: CollectionName;
      readonly filter: Fields;
      readonly update: Fields;
      readonly upsert: boolean;
      readonly returns?: "before" | "after";
    }
  | { readonly kind: "delete"; readonly collection: CollectionName; readonly filter: Fields; readonly limit: number }
  /** Makes documents what these texts say, whatever they are now; null removes one. */
  | {
      readonly kind: "put";
      readonly collection: CollectionName;
      readonly documents: readonly (readonly [id: string, text: string | null])[];
    }
  /** In order; the first that fails ends it, and those before it stay. */
  | { readonly kind: "bulk"; readonly operations: readonly WriteOperation[] }
  /** Creates what is missing of these collections, with or without their indexes. */
  | { readonly kind: "define"; readonly collections: readonly CollectionName[]; readonly withoutIndexes?: boolean }
  /** Gives a file that has none the id of its store. */
  | { readonly kind: "name"; readonly store: string }
  /** Once it is committed, the log is copied into the file and emptied; `modified` is 0 where somebody reads. */
  | { readonly kind: "emptyLog" }
  /** Proves that the file can be written to. */
  | { readonly kind: "touch" };

/** Why one operation failed although the store is well. */
type WriteFailure = { readonly duplicateIn: string } | { readonly refused: string } | { readonly damaged: string };

export interface WriteResult {
  readonly matched: number;
  readonly modified: number;
  readonly upserted: number;
  readonly deleted: number;
  /** The document's text as the update was told to return it; absent where there was none. */
  readonly text?: string;
  readonly failure?: WriteFailure;
}

/** All operations of a batch share one commit: results in their order, or none of it happened (or, with `outcomeUnknown`, maybe). */
export type BatchReply =
  | {
      readonly results: readonly WriteResult[];
      /** What a slow commit took, in milliseconds. */
      readonly slowMs?: number;
    }
  | { readonly unavailable: { readonly message: string; readonly outcomeUnknown: boolean; readonly tooSlow: boolean } };

export interface WriterSettings {
  readonly file: string;
  /** How long a batch waits for another process that is writing, in milliseconds. */
  readonly patience: number;
  /** The file of `Marks`, which is told of commits once it is there; none where it is left out. */
  readonly marks?: string;
  /** A commit is slow that takes so many milliseconds; 1000 unless told. */
  readonly slowCommit?: number;
}

/** What the writer is told: a file to open, batches for it, and to close it; then it may be told to open another. Without an answer to the first. */
export type ToWriter = { readonly open: WriterSettings } | readonly WriteOperation[] | "close";

/** To each batch, and once the file is closed. */
export type WriterReply = BatchReply | "closed";
