import { compareCodePoints } from "../../platform/util/codePoints.ts";

/** Patterns of rate limit overrides (ratelimit §5): `*` matches any run of characters, everything else is literal. */

/** True when the whole of `text` matches. Linear in the length of both: no pattern can make it slow. */
const matchesPattern = (pattern: string, text: string): boolean => {
  const [head = "", ...rest] = pattern.split("*");
  const tail = rest.pop();
  if (tail === undefined) return text === pattern;
  if (!text.startsWith(head) || text.length < head.length + tail.length || !text.endsWith(tail)) return false;
  const end = text.length - tail.length;
  let from = head.length;
  // The earliest place for each part leaves the most room for those behind it.
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at === -1 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
};

const literalLength = (pattern: string): number => [...pattern.replaceAll("*", "")].length;

/** Chooses among overrides by identifier. */
export interface OverrideMatcher<T> {
  /**
   * The override of exactly this identifier; else, of the patterns that match it, the one with the most literal code
   * points, ties in code point order; else undefined.
   */
  readonly match: (identifier: string) => T | undefined;
}

export const compileOverrides = <T extends { readonly identifier: string }>(overrides: readonly T[]): OverrideMatcher<T> => {
  const exact = new Map(overrides.map((override) => [override.identifier, override]));
  const patterns = overrides
    .filter(({ identifier }) => identifier.includes("*"))
    .sort((a, b) => literalLength(b.identifier) - literalLength(a.identifier) || compareCodePoints(a.identifier, b.identifier));
  return { match: (identifier) => exact.get(identifier) ?? patterns.find((each) => matchesPattern(each.identifier, identifier)) };
};
