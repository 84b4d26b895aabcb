import type { BackfillState, SystemDocument } from "../storage/port/internalDocuments.ts";
import type { Store } from "../storage/port/store.ts";
import { refuseUnusable } from "../storage/schemaVersion.ts";
import type { BackedUpCollection } from "./backedUp.ts";

/** What a store says of itself. */
export interface SourceFacts {
  readonly engine: Store["engine"];
  /** The newest schema that wrote to it, and the one that made it. */
  readonly schema: number;
  readonly madeBy: number;
  readonly backfill?: BackfillState;
}

/**
 * What the row of a store's schema says of it. Throws where there is no such store, or this version cannot use it: see `refuseUnusable`.
 * @param where the store is, for people
 */
export const factsOf = (engine: Store["engine"], schema: SystemDocument | null, where: string): SourceFacts => {
  if (schema === null) throw new Error(`there is no Latchkey store in ${where}`);
  refuseUnusable(schema);
  const { v: madeBy, schema: newest = madeBy, backfill } = schema;
  return { engine, schema: newest, madeBy, ...(backfill && { backfill }) };
};

/** Some documents of one collection. */
export interface SourceBatch {
  readonly collection: BackedUpCollection;
  /** See `toText`: JSON, in which a Date is its milliseconds. */
  readonly texts: readonly string[];
}

/** All documents of a store that belong into a backup. */
export interface BackupSource {
  readonly facts: SourceFacts;
  /** How many there are, roughly; undefined where only reading them all would tell. */
  readonly size: number | undefined;
  /** Collections in the order of `backedUp`, batches of a bounded size, the audit log in its order. */
  readonly read: () => AsyncIterable<SourceBatch> | Iterable<SourceBatch>;
}

/** A batch ends with either of them. */
export const MOST_DOCUMENTS = 500;
const MOST_CHARACTERS = 1_000_000;

/** Groups texts into batches. */
export const inBatches = function* (collection: BackedUpCollection, all: Iterable<string>): Generator<SourceBatch, void> {
  let texts: string[] = [];
  let characters = 0;
  for (const text of all) {
    texts.push(text);
    characters += text.length;
    if (texts.length < MOST_DOCUMENTS && characters < MOST_CHARACTERS) continue;
    yield { collection, texts };
    texts = [];
    characters = 0;
  }
  if (texts.length > 0) yield { collection, texts };
};
