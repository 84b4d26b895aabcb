import { readLocalTime } from "../readInput.ts";

/**
 * Says why a typed expiry cannot be saved; undefined: it can.
 * @param text of a `datetime-local` input
 * @param now Unix ms
 */
export const expiryProblem = (text: string, now: number): string | undefined => {
  const at = readLocalTime(text);
  if (at === undefined) return "Expires must be a date and a time.";
  return at <= BigInt(now) ? "Expires must be in the future." : undefined;
};
