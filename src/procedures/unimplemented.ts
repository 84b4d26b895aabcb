/** Procedures of the contract that answer 501 `not_implemented` so far. A test holds this list against the service. */
export const unimplemented: readonly string[] = [];
