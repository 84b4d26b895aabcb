import { keepText } from "../../util/jsonText.ts";
import { type Check, report } from "../rules/findings.ts";
import { deepestStruct } from "../valueBound.ts";

/** What a JSON object of arbitrary content may be; 0 is no bound. */
export interface StructRules {
  /** Compact JSON in UTF-8. */
  readonly maxBytes: number;
  /** Top level only. */
  readonly maxProperties: number;
}

/** What makes a value impossible to keep, or undefined. Recursion ends where it is nested too deep. */
const flaw = (value: unknown, depth: number): string | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "holds a number that is too large for a double";
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > deepestStruct) return `is nested more than ${deepestStruct} levels deep`;
  let found: string | undefined;
  if (Array.isArray(value)) for (const item of value) found ??= flaw(item, depth + 1);
  // Object.values takes twice as long for an object with 100,000 properties.
  else for (const name in value) found ??= flaw((value as Readonly<Record<string, unknown>>)[name], depth + 1);
  return found;
};

/** An object of arbitrary content: finite numbers, bounded depth, and the size its field allows (keys §1.6, identities). */
export const structCheck =
  ({ maxBytes, maxProperties }: StructRules): Check<object> =>
  (struct, findings) => {
    const problem = flaw(struct, 1);
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
