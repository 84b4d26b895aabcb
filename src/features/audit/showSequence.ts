/** A number of the chain on the wire: one that somebody wrote by hand may be none. */
export const showSequence = (sequence: number): bigint => BigInt(Math.trunc(sequence));
