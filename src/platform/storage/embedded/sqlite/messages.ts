import type { Fields } from "../../port/applyUpdate.ts";
import type { CollectionName } from "../../port/documents.ts";
import type { CounterEntry } from "../counters/counterTable.ts";
import type { ColumnValue } from "./columns.ts";

/** What the main thread asks of the writer. Each touches one document at a time, all or nothing; `bulk` and those of counters: one after the other. */
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
  /** In the file of counters: makes them what these entries say, whatever they are now. */
  | { readonly kind: "putCounters"; readonly entries: readonly CounterEntry[] }
  /** In the file of counters: removes those that have expired among the rows after this key. `now` is Unix ms. */
  | { readonly kind: "removeCounters"; readonly after: string; readonly now: number }
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
  /** The document's text as the update was told to return it, absent where there was none; after `removeCounters` the key to continue after. */
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
  /**
   * Commits are with the operating system when they are acknowledged, and on disk within this many milliseconds; on disk at once where it
   * is left out.
   */
  readonly syncWithin?: number;
  /** A commit is slow that takes so many milliseconds; 1000 unless told. */
  readonly slowCommit?: number;
}

/** What the writer is told: a file to open, batches for it, and to close it; then it may be told to open another. Without an answer to the first. */
export type ToWriter = { readonly open: WriterSettings } | readonly WriteOperation[] | "close";

/** To each batch, and once the file is closed. */
export type WriterReply = BatchReply | "closed";
