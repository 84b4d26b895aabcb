import { expect, test } from "vitest";
import { addedText, redactedText, replacedText } from "../../src/platform/storage/repositories/shared/changeText.ts";

/** The JSON text of a string of so many bytes, quotes included. */
const textOf = (bytes: number, filler = "a"): string => JSON.stringify(filler.repeat(bytes - 2));
const changed = (before: string | undefined, after: string | undefined) => JSON.parse(replacedText("meta", before, after));

test.each([1_023, 1_024])("[management §4] a value whose JSON has %i bytes is recorded whole", (bytes) => {
  const value = "a".repeat(bytes - 2);
  expect(changed(undefined, textOf(bytes))).toEqual({ field: "meta", after: value });
  expect(changed(textOf(bytes), undefined)).toEqual({ field: "meta", before: value });
});

test("[management §4] a value whose JSON has 1,025 bytes is cut to the first 1,024 of its JSON, as text, and says so", () => {
  const start = textOf(1_025).slice(0, 1_024);
  expect(changed(undefined, textOf(1_025))).toEqual({ field: "meta", after: start, truncated: true });
  expect(changed(textOf(1_025), "1")).toEqual({ field: "meta", before: start, after: 1, truncated: true });
});

test("[management §8] a cut never leaves half a character", () => {
  for (const filler of ["é", "€", "😀"]) {
    for (let shift = 0; shift < 4; shift++) {
      const text = JSON.stringify("a".repeat(shift) + filler.repeat(600));
      const { after } = changed(undefined, text) as { after: string };
      expect(text.startsWith(after)).toBe(true);
      expect(after.isWellFormed()).toBe(true);
      const bytes = Buffer.byteLength(after);
      expect(bytes).toBeLessThanOrEqual(1_024);
      expect(bytes).toBeGreaterThan(1_024 - Buffer.byteLength(filler));
    }
  }
  // The bound is in bytes, not characters: 511 two-byte characters just fit.
  const fits = JSON.stringify("é".repeat(511));
  expect(Buffer.byteLength(fits)).toBe(1_024);
  expect(changed(undefined, fits)).toEqual({ field: "meta", after: "é".repeat(511) });
});

test("[management §4] a megabyte is cut like anything else", () => {
  const text = `{"a":"${"x".repeat(1_048_576)}"}`;
  expect(changed(text, undefined)).toEqual({ field: "meta", before: text.slice(0, 1_024), truncated: true });
});

test("[management §4] added and secret values", () => {
  expect(JSON.parse(addedText("credits.remaining", -5))).toEqual({ field: "credits.remaining", by: -5 });
  expect(JSON.parse(redactedText("hash"))).toEqual({ field: "hash", redacted: true });
});
