/** Without an answer from the feed for so long, what a node remembers may lack a change that was acknowledged a second ago. */
export const SILENT_AFTER_MS = 1_000;

/**
 * What a node knows of the others (DESIGN §9): an answer is right when it rests on what was read, or confirmed by the feed,
 * less than a second before its call. One for all caches of a node.
 */
export interface Contact {
  /** Monotonic time at which the last poll of the feed that got an answer was sent; what was announced by then is known. */
  heardAt: number;
  /** How long after `heardAt` what is remembered may answer in the store's place, in milliseconds. */
  readonly staleFor: number;
  /** Reads in flight of what is remembered, while the feed is silent. */
  reads: number;
}

export const createContact = (staleFor: number): Contact => ({ heardAt: Number.NEGATIVE_INFINITY, staleFor, reads: 0 });
