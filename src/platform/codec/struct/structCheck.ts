import { holdText } from "../../util/jsonText.ts";
import { type Check, report } from "../rules/findings.ts";
import { deepestStruct } from "../valueBound.ts";

/** What a JSON object of arbitrary content may be; 0 is no bound. */
export interface StructRules {
  /** Compact JSON in UTF-8. */
  readonly maxBytes: number;
  /** Top level only. */
  readonly maxProperties: number;
}

const tooLarge = "holds a number that is too large for a double";
const tooDeep = `is nested more than ${deepestStruct} levels deep`;

interface Written {
  /** Compact JSON. */
  readonly text: string;
  /** The number of properties at the top level. */
  readonly properties: number;
  /** What makes the object impossible to keep, if anything does. */
  readonly problem: string | undefined;
}

/**
 * Writes an object and checks it in one walk: V8 sorts the properties of a large object whenever it lists them, which takes as long
 * as writing it. Recursion ends where the nesting is too deep.
 */
const write = (struct: object): Written => {
  let properties = 0;
  let problem: string | undefined;
  /** The objects and arrays around a value, from the outermost one. */
  const around: unknown[] = [];
  const text = JSON.stringify(struct, function (this: unknown, _name, value: unknown) {
    if (this === struct) properties++;
    if (typeof value === "number") {
      if (!Number.isFinite(value)) problem ??= tooLarge;
    } else if (typeof value === "object" && value !== null) {
      while (around.length > 0 && around.at(-1) !== this) around.pop();
      if (around.push(value) > deepestStruct) {
        problem ??= tooDeep;
        return null;
      }
    }
    return value;
  });
  return { text, properties, problem };
};

/**
 * An object of arbitrary content: finite numbers, bounded depth, and the size its field allows (keys §1.6, identities). It holds its
 * text from then on.
 */
export const structCheck =
  ({ maxBytes, maxProperties }: StructRules): Check<object> =>
  (struct, findings) => {
    const { text, properties, problem } = write(struct);
    if (problem !== undefined) return report(findings, problem);
    holdText(struct, text);
    if (maxProperties > 0 && properties > maxProperties) report(findings, `got ${properties} properties, want at most ${maxProperties}`);
    if (maxBytes > 0) {
      const size = Buffer.byteLength(text);
      if (size > maxBytes) report(findings, `too large: got ${size} bytes of JSON, want at most ${maxBytes}`);
    }
  };
