import type { Violation } from "../base/errors.ts";
import type { BodyOwner } from "../http/readBody.ts";

/** Values of one body, those that nobody asked for included: more than any request of the contract needs. */
export const mostValues = 100_000;

/** Objects and arrays within one another in metadata. */
export const deepestStruct = 1_000;

export const tooManyValues: Violation = {
  location: "body",
  message: `holds more than ${mostValues} values`,
  fix: "send fewer items at once",
};

/** Values that are within what a request costs anyway. */
export const freeValues = 1_000;

/** Memory of a value in bytes: between a number, which takes some 20, and a key to migrate, which takes 250. */
const valueBytes = 100;

/** Charges a body's owner for what its values become, until the call is answered. Throws where there is no room for that. */
export const chargeValues = (values: number, owner: Pick<BodyOwner, "charge">): void => {
  if (values > freeValues) owner.charge(values * valueBytes);
};
