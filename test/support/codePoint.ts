import fc from "fast-check";

/** Where the surrogates are, which no text in UTF-8 holds. */
const [firstSurrogate, behindSurrogates] = [0xd800, 0xe000];
const surrogates = behindSurrogates - firstSurrogate;
const last = 0x10_ffff;

/**
 * A character of any kind, for `fc.string({ unit: codePoint })`: as fast-check's "binary", which makes a table of all
 * 1,112,064 of them in each process that asks for it.
 */
export const codePoint: fc.Arbitrary<string> = fc.nat({ max: last - surrogates }).map(
  (index) => String.fromCodePoint(index < firstSurrogate ? index : index + surrogates),
  (value) => {
    const point = typeof value === "string" && value.isWellFormed() ? value.codePointAt(0) : undefined;
    if (point === undefined || value !== String.fromCodePoint(point)) throw new Error("no character");
    return point < firstSurrogate ? point : point - surrogates;
  },
);
