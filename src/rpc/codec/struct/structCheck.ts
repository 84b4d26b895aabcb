import { heldText } from "../../../util/jsonText.ts";
import { deepest } from "../json/jsonScan.ts";
import { type Check, report } from "../rules/findings.ts";
import type { StructRules } from "./textSink.ts";

interface Level {
  readonly depth: number;
  readonly values: readonly unknown[];
}

/** What makes a value impossible to keep, or undefined. Walks without recursion, whatever the nesting. */
const flaw = (struct: object): string | undefined => {
  const levels: Level[] = [{ depth: 1, values: Object.values(struct) }];
  for (let level = levels.pop(); level !== undefined; level = levels.pop()) {
    const depth = level.depth + 1;
    for (const value of level.values) {
      if (typeof value === "number") {
        if (!Number.isFinite(value)) return "holds a number that is too large for a double";
      } else if (typeof value === "object" && value !== null) {
        if (depth > deepest) return `is nested more than ${deepest} levels deep`;
        levels.push({ depth, values: Array.isArray(value) ? value : Object.values(value) });
      }
    }
  }
  return undefined;
};

/** An object of arbitrary content: finite numbers, bounded depth, and the size its field allows (keys §1.6, identities). */
export const structCheck =
  ({ maxBytes, maxProperties }: StructRules): Check<object> =>
  (struct, findings) => {
    // A text was checked as it was read.
    if (heldText(struct) !== undefined) return;
    const problem = flaw(struct);
    if (problem !== undefined) return report(findings, problem);
    if (maxProperties > 0) {
      const count = Object.keys(struct).length;
      if (count > maxProperties) report(findings, `got ${count} properties, want at most ${maxProperties}`);
    }
    if (maxBytes > 0) {
      const size = Buffer.byteLength(JSON.stringify(struct));
      if (size > maxBytes) report(findings, `too large: got ${size} bytes of JSON, want at most ${maxBytes}`);
    }
  };
