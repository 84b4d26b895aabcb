import type { IntegerRules, TextRules } from "./annotations.ts";
import { type Check, report } from "./findings.ts";

/** UTF-16 units that are counted one by one; of longer texts beyond their bound only that is told. */
const longestCounted: number = 64 * 1024;

/** Length in code points (protocol §3). */
const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

/**
 * A text outside `meta`: bounds in code points, the pattern, and no lone surrogate, which has no UTF-8 form and so no
 * place in a Protobuf string (protocol §3).
 */
export const textCheck =
  ({ min, max, pattern }: TextRules): Check<string> =>
  (text, findings) => {
    // A code point has one or two UTF-16 units: only a text near a bound has to be counted.
    if (text.length > 2 * max && text.length > longestCounted)
      return report(findings, `too long: got more than ${max}, want at most ${max}`);
    if (text.length > max || text.length < 2 * min) {
      const length = codePoints(text);
      if (length < min) report(findings, `too short: got ${length}, want ${min}`);
      if (length > max) report(findings, `too long: got ${length}, want at most ${max}`);
    }
    if (!text.isWellFormed()) report(findings, "holds a lone surrogate, which UTF-8 cannot represent", "remove the unpaired \\u escape");
    else if (pattern !== undefined && !pattern.test(text)) report(findings, `does not match the pattern ${pattern.source}`);
  };

/** An integer within its bounds. Where a number is no longer exact it is not shown, as it is not what was sent. */
export const integerCheck =
  ({ min, max }: IntegerRules): Check<number> =>
  (value, findings) => {
    if (value >= min && value <= max) return;
    const got = Number.isSafeInteger(value) ? `got ${value}` : value > 0 ? "too large" : "too small";
    report(findings, value > max ? `${got}, want at most ${max}` : `${got}, want at least ${min}`);
  };

/** The number of items of a list. */
export const countCheck =
  ({ min, max }: IntegerRules): Check<number> =>
  (count, findings) => {
    if (count < min) report(findings, `got ${count}, want at least ${min}`);
    if (count > max) report(findings, `got ${count}, want at most ${max}`);
  };
