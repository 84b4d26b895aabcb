import { tooManyValues } from "./unreadable.ts";

/**
 * Values that a body may put into a message, those in objects of arbitrary content not counted: more than any request of
 * the contract needs in the size that bodies have.
 */
const mostValues = 1_000_000;

/**
 * What a value is charged as, in bytes: between a member, which takes some 20, and a key to migrate, which takes 250. The
 * most values that one body may hold have to fit into the room for bodies (`leastBodyBytes`).
 */
const valueBytes = 100;

/** Values that are charged together; the first ones are within what a request costs anyway. */
const step = 64;

/** Counts a value that becomes part of a message. Throws when there are too many, or no room for more. */
export type CountValue = () => void;

/**
 * Charges for the values of one body as they are read, for a few bytes of a body may become a hundred times as many.
 * @param charge takes bytes for the caller, or throws.
 */
export const valueCount = (charge: (bytes: number) => void): CountValue => {
  let values = 0;
  let charged = step;
  return () => {
    if (++values > mostValues) throw tooManyValues(mostValues);
    if (values <= charged) return;
    charged += step;
    charge(step * valueBytes);
  };
};
