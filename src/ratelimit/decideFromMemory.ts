import { windowAt } from "../domain/slidingWindow.ts";
import { type Claim, canTake, hasJustRefused, isDenied, isKnown, type Line } from "./localCounter.ts";

/**
 * What this node can decide about a claim: it takes from the held budget; it only learns whether there is room, since it costs
 * nothing or another limit of its call has refused; it is refused; or the store has to be asked.
 */
export type MemoryDecision = "take" | "look" | "refuse" | "askStore";

/** What other calls have reserved on the claim's counter and may still give back. */
export const reservedByOthers = ({ counter, call }: Claim): number => {
  let others = counter.reserved;
  for (const { counter: same, grant } of call.claims) {
    if (same === counter && grant !== undefined && grant.seq === counter.seq) others -= grant.reserved;
  }
  return others;
};

/**
 * Decides a claim without the store, where that is possible; changes nothing. A denial waits for what other calls have
 * reserved, so that calls in parallel pass exactly as they would one after the other (verify §11). A claim that costs nothing
 * needs counts that were read after its call arrived.
 * @param now the time to judge at, Unix ms
 * @param monotonic the present time, by which knowledge gets old
 */
export const decideFromMemory = (claim: Claim, now: number, monotonic: number): MemoryDecision => {
  const { counter, limit, cost, call } = claim;
  if (cost > limit) return "refuse";
  const seq = windowAt(now, counter.duration);
  if (call.lost) return isKnown(counter, seq, monotonic) ? "look" : "askStore";
  if (cost === 0) return counter.seq === seq && counter.askedAt > call.monotonic ? "look" : "askStore";
  if (canTake(counter, seq, limit, cost)) return "take";
  if (isDenied(counter, limit, cost, now, monotonic) && reservedByOthers(claim) === 0) return "refuse";
  return "askStore";
};

/**
 * True when a claim can be refused although others wait before it: what they ask for leaves no room, by counts that are known.
 * If one of them is refused, this one would be as well: it costs no less and has no higher limit. Only on a counter that is
 * used up, where it saves most of the exchanges with the store, and where no other limit may refuse a waiting call.
 */
export const isDeniedBehind = ({ counter, limit, cost, call: { now, monotonic } }: Claim, line: Line): boolean =>
  line.withOthers === 0 &&
  counter.reserved === 0 &&
  cost > 0 &&
  cost >= line.largestCost &&
  limit <= line.lowestLimit &&
  hasJustRefused(counter, monotonic) &&
  isDenied(counter, limit, cost + line.cost, now, monotonic);
