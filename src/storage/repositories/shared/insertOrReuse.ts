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
