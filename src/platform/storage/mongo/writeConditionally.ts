import { type Collection, MongoBulkWriteError, MongoServerError } from "mongodb";
import type { Filter, Identified, Update } from "../port/collection.ts";
import { StoreUnavailableError } from "../port/errors.ts";

/** What became of a write: it found its document, made it, or found none that is as the filter asks for and did nothing. */
export type WriteOutcome = "updated" | "inserted" | "refused";

/** A write of the one document of an id, on condition that it is as the filter asks for. */
export interface ConditionalWrite<D extends Identified> {
  readonly filter: Filter<D> & { readonly _id: string };
  readonly update: Update<D>;
  /** Makes the document when there is none of that id. */
  readonly inserts?: boolean;
}

/** Makes an upsert insert nothing: no server makes a document of another id than the filter's. */
const INSERT_NOTHING = { $setOnInsert: { _id: "" } } as const;

/** How a server says that it did not insert what it did not find. */
const refusals = new Set<unknown>([
  11000, // DuplicateKey: the document is there, and otherwise than the filter asks for
  66, // ImmutableField: INSERT_NOTHING
]);

const untold = (what: string): StoreUnavailableError => new StoreUnavailableError(`MongoDB did not tell ${what}`, { outcomeUnknown: true });

/**
 * Writes several documents by one command, and tells what became of each write; of one that failed by itself, and did
 * nothing, the server's error. Rejects where that is not known: then each of them may have been done.
 *
 * The answer of a server counts the statements that found something, and names those that inserted and those that failed. So
 * each statement is an upsert, which finds, inserts or fails: whatever is not named has found its document. The driver sends
 * the command again where a connection broke, and the server does nothing twice then.
 */
export const writeConditionally = async <D extends Identified>(
  collection: Collection,
  writes: readonly ConditionalWrite<D>[],
  maxTimeMS: number,
): Promise<readonly (WriteOutcome | MongoServerError)[]> => {
  const statements = writes.map(({ filter, update, inserts }) => ({
    updateOne: { filter: filter as object, update: (inserts ? update : { ...update, ...INSERT_NOTHING }) as object, upsert: true },
  }));
  const outcomes = new Array<WriteOutcome | MongoServerError>(writes.length).fill("updated");
  const options = { ordered: false, maxTimeMS };
  const result = await collection.bulkWrite(statements, options).catch((error: unknown) => {
    const failed = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
    if (!(error instanceof MongoBulkWriteError) || failed.length === 0) throw error;
    if (error.result.getWriteConcernError() !== undefined) throw untold("that the others will last");
    for (const { index, code, errmsg } of failed) {
      outcomes[index] = refusals.has(code) ? "refused" : new MongoServerError({ code, message: `${errmsg}` });
    }
    return error.result;
  });
  for (const index of Object.keys(result.upsertedIds)) outcomes[Number(index)] = "inserted";
  const found = outcomes.filter((outcome) => outcome === "updated").length;
  const isInsertedInVain = writes.some(({ inserts }, i) => outcomes[i] === "inserted" && !inserts);
  if (found !== result.matchedCount || isInsertedInVain) {
    throw untold("what became of each write");
  }
  return outcomes;
};
