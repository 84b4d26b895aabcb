import { keepText } from "../../../util/jsonText.ts";
import { type Check, report } from "../rules/findings.ts";
import { deepestStruct } from "../valueBound.ts";

/** What a JSON object of arbitrary content may be; 0 is no bound. */
export interface StructRules {
  /** Compact JSON in UTF-8. */
  readonly maxBytes: number;
  /** Top level only. */
  readonly maxProperties: number;
}

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
        if (depth > deepestStruct) return `is nested more than ${deepestStruct} levels deep`;
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
    const problem = flaw(struct);
    if (problem !== undefined) return report(findings, problem);
    if (maxProperties > 0) {
      const count = Object.keys(struct).length;
      if (count > maxProperties) report(findings, `got ${count} properties, want at most ${maxProperties}`);
    }
    if (maxBytes > 0) {
      const size = Buffer.byteLength(keepText(struct));
      if (size > maxBytes) report(findings, `too large: got ${size} bytes of JSON, want at most ${maxBytes}`);
    }
  };
