import fc from "fast-check";
import { expect, test } from "vitest";
import { compileOverrides } from "../../src/features/ratelimit/overridePattern.ts";

/** Few characters, so that patterns often match; one beyond the basic plane, one with a meaning in regular expressions. */
const character = fc.constantFrom("a", "b", "*", ".", "\n", "\u{1F511}", "\uff5e");
const text = fc.array(character, { minLength: 1, maxLength: 7 }).map((characters) => characters.join(""));

const codePoints = (value: string): number[] => [...value].map((each) => each.codePointAt(0) ?? 0);
const byCodePoints = (a: string, b: string): number => {
  const [left, right] = [codePoints(a), codePoints(b)];
  const at = left.findIndex((each, i) => each !== right[i]);
  if (at === -1) return left.length - right.length;
  return at >= right.length ? 1 : (left[at] ?? 0) - (right[at] ?? 0);
};

/** The words of the contract, in a regular expression. */
const expected = (identifiers: readonly string[], identifier: string): string | undefined => {
  if (identifiers.includes(identifier)) return identifier;
  const literal = (pattern: string): number => codePoints(pattern.replaceAll("*", "")).length;
  return identifiers
    .filter((pattern) => {
      const parts = pattern.split("*").map((part) => part.replaceAll(/[.\\^$|?+()[\]{}]/g, "\\$&"));
      return pattern.includes("*") && new RegExp(`^${parts.join(".*")}$`, "su").test(identifier);
    })
    .sort((a, b) => literal(b) - literal(a) || byCodePoints(a, b))[0];
};

test("[ratelimit §5] the equal identifier, else the pattern with the most literal code points, ties by code points, decides", () => {
  fc.assert(
    fc.property(fc.uniqueArray(text, { maxLength: 8 }), text, (identifiers, identifier) => {
      const matcher = compileOverrides(identifiers.map((each) => ({ identifier: each })));
      expect(matcher.match(identifier)?.identifier).toBe(expected(identifiers, identifier));
    }),
    { numRuns: 3_000 },
  );
});

test("[ratelimit §5] no pattern makes matching slow: a work of seconds for a backtracking matcher ends", () => {
  const matcher = compileOverrides([{ identifier: `${"a*".repeat(255)}b` }]);
  expect(matcher.match("a".repeat(512))).toBeUndefined();
  expect(matcher.match(`${"a".repeat(511)}b`)).toBeDefined();
});
