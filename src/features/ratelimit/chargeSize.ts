import type { ChargeRequest } from "../../platform/storage/counters/sharedCounter.ts";
import type { Line } from "./localCounter.ts";

/** How much budget a charge asks for. */
export type ChargeSize = Pick<ChargeRequest, "limit" | "cost" | "need" | "chunk">;

/** Limits up to this are charged one cost at a time, so that several nodes waste none of them. */
const UNCHUNKED_LIMIT = 20;

/** True when budget may be charged ahead of the calls that spend it. */
export const mayChargeAhead = (limit: number): boolean => limit > UNCHUNKED_LIMIT;

/** How long a chunk should last, in milliseconds. */
export interface ChunkLasts {
  readonly least: number;
  readonly most: number;
}

/**
 * The next chunk follows the rate at which the counter is asked: twice as large as one that lasted less than
 * `lasts.least`, half of one that lasted more than `lasts.most`; between `least` and `most` in any case, `most` first.
 */
export const nextChunk = (chunk: number, lasted: number, lasts: ChunkLasts, least: number, most: number): number => {
  const followed = lasted < lasts.least ? chunk * 2 : lasted > lasts.most ? Math.floor(chunk / 2) : chunk;
  return Math.min(Math.max(least, followed), most);
};

/** What the waiting calls need, up to the first one with another limit. */
export const neededBy = ({ waiters }: Line, limit: number): number => {
  let sum = 0;
  for (const { claim } of waiters) {
    if (claim.limit !== limit || claim.cost === 0) break;
    if (!claim.call.lost) sum += claim.cost;
  }
  return sum;
};
