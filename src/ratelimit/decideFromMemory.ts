import { windowAt } from "../domain/slidingWindow.ts";
import { type Claim, canTake, isDenied, isKnown } from "./localCounter.ts";

/**
 * What becomes of a claim by what this node knows: it takes from the held budget; it is told whether there is room, and
 * takes nothing, as another limit of its call has refused; it is refused; or the store has to be asked.
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
 * reserved, so that calls in parallel pass exactly as they would one after the other (verify §11).
 * @param now Unix ms; `monotonic` is the same moment on the other clock.
 */
export const decideFromMemory = (claim: Claim, now: number, monotonic: number): MemoryDecision => {
  const { counter, limit, cost, call } = claim;
  if (cost > limit) return "refuse";
  const seq = windowAt(now, counter.duration);
  if (call.lost) return isKnown(counter, seq, monotonic) ? "look" : "askStore";
  if (canTake(counter, seq, limit, cost)) return "take";
  if (isDenied(counter, limit, cost, now, monotonic) && reservedByOthers(claim) === 0) return "refuse";
  return "askStore";
};
