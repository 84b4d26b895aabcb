import type { BackfillState, SystemDocument } from "../../platform/storage/port/internalDocuments.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { refuseUnusable } from "../../platform/storage/schemaVersion.ts";
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

/** Texts of one collection as they come by. */
export interface Gathered {
  /** @returns a batch, once there is a whole one */
  readonly add: (text: string) => SourceBatch | undefined;
  /** What is left at the end. */
  readonly rest: () => SourceBatch | undefined;
}

/** Gathers texts into batches. */
export const gather = (collection: BackedUpCollection): Gathered => {
  let texts: string[] = [];
  let characters = 0;
  const rest = (): SourceBatch | undefined => {
    if (texts.length === 0) return undefined;
    const batch = { collection, texts };
    texts = [];
    characters = 0;
    return batch;
  };
  return {
    add: (text) => {
      texts.push(text);
      characters += text.length;
      return texts.length < MOST_DOCUMENTS && characters < MOST_CHARACTERS ? undefined : rest();
    },
    rest,
  };
};

/** Groups texts into batches. */
export const inBatches = function* (collection: BackedUpCollection, all: Iterable<string>): Generator<SourceBatch, void> {
  const { add, rest } = gather(collection);
  for (const text of all) {
    const batch = add(text);
    if (batch !== undefined) yield batch;
  }
  const last = rest();
  if (last !== undefined) yield last;
};
