import type { SharedCounter } from "../../src/platform/storage/counters/sharedCounter.ts";
import type { Counters } from "../../src/platform/storage/port/counters.ts";

/** Windows so long that number 5 counts until the year 2223. */
const DURATION = 1_000_000_000_000;

/**
 * Charges `amount` at the end of window `seq`, where the window before weighs nothing, if the window counts at most `atMost`.
 * Returns the counter afterwards, null: there was no room.
 * @param duration length of a window, in milliseconds
 */
export const chargeWindow = async (
  counters: Counters,
  key: string,
  seq: number,
  atMost: number,
  amount: number,
  duration: number = DURATION,
): Promise<SharedCounter | null> => {
  const size = { limit: atMost + amount, cost: amount, need: amount, chunk: 0 };
  const node = { duration, now: (seq + 1) * duration - 1, held: 0, heldSeq: -1, known: undefined };
  const { isGranted, counter } = await counters.charge(key, { ...size, ...node });
  return isGranted ? counter : null;
};
