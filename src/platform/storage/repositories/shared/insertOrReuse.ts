import type { Collection, Identified, OperationOptions } from "../../port/collection.ts";
import { DuplicateKeyError } from "../../port/errors.ts";

const ATTEMPTS = 5;

/**
 * Finds a document by its unique field, or makes it: of any number of concurrent callers, on any number of nodes,
 * one inserts and all get the same document (style §9).
 */
export const insertOrReuse = async <D>(find: () => Promise<D | null>, insert: () => Promise<D>): Promise<D> => {
  for (let attempt = 1; ; attempt++) {
    const found = await find();
    if (found) return found;
    try {
      return await insert();
    } catch (error) {
      // Lost the race; the winner may have been deleted since, hence more than one attempt.
      if (!(error instanceof DuplicateKeyError) || attempt === ATTEMPTS) throw error;
    }
  }
};

/** Inserts a document; false where there is one with its id, or with a value that is unique. */
export const insertUnlessThere = async <D extends Identified>(
  collection: Collection<D>,
  document: D,
  options?: OperationOptions,
): Promise<boolean> => {
  try {
    await collection.insertOne(document, options);
    return true;
  } catch (error) {
    if (error instanceof DuplicateKeyError) return false;
    throw error;
  }
};
