import { isObject } from "../util/isObject.ts";
import { type Finding, report, reportType } from "./rules/findings.ts";
import type { Dialect, EnumShape, IntegerShape, Shape } from "./shape.ts";

/** Turns parsed JSON into a field's value. What is of another type becomes an empty value: given, as the rules over several fields see it. */
export type Decode = (json: unknown, findings: Finding[]) => unknown;

const decodeInteger =
  ({ check }: IntegerShape): Decode =>
  (json, findings) => {
    if (typeof json !== "number") {
      reportType(findings, json, "integer");
    } else if (Number.isInteger(json)) {
      const before = findings.length;
      check(json, findings);
      if (findings.length === before) return BigInt(json);
    } else {
      report(findings, Number.isFinite(json) ? `got ${json}, want integer` : "too large for a number");
    }
    return 0n;
  };

/** int64 as the Protobuf mapping writes it. Longer ones are beyond every bound, whatever their digits. */
const integerText = /^-?\d{1,20}$/;

/** The same, and text of digits. */
const decodeProtoInteger = (shape: IntegerShape): Decode => {
  const decode = decodeInteger(shape);
  return (json, findings) => decode(typeof json === "string" && integerText.test(json) ? Number(json) : json, findings);
};

const decodeEnum = ({ numbers }: EnumShape): Decode => {
  const spellings = [...numbers.keys()].join(", ");
  return (json, findings) => {
    if (typeof json !== "string") {
      reportType(findings, json, "string");
      return 0;
    }
    const number = numbers.get(json);
    if (number === undefined) report(findings, `want one of ${spellings}`, "mind the letter case");
    return number ?? 0;
  };
};

/** Names of the .proto, or numbers; zero, which stands for nothing, is not judged here. */
const decodeProtoEnum = ({ protoNames, spellings }: EnumShape): Decode => {
  const names = [...protoNames].filter(([, number]) => spellings.has(number)).map(([name]) => name);
  return (json, findings) => {
    const number = typeof json === "string" ? protoNames.get(json) : json;
    if (number === 0 || (typeof number === "number" && spellings.has(number))) return number;
    if (typeof json === "string" || typeof json === "number") report(findings, `want one of ${names.join(", ")}`, "mind the letter case");
    else reportType(findings, json, "string");
    return 0;
  };
};

/** A value whose type is all there is to know of it. */
const decodeChecked =
  <T>(want: string, is: (json: unknown) => json is T, zero: () => T, check: (value: T, findings: Finding[]) => void): Decode =>
  (json, findings) => {
    if (!is(json)) {
      reportType(findings, json, want);
      return zero();
    }
    check(json, findings);
    return json;
  };

const isText = (json: unknown): json is string => typeof json === "string";
const isBoolean = (json: unknown): json is boolean => typeof json === "boolean";

/** The part of the decoder for values that hold no message. */
export const scalarDecoder = (
  shape: Extract<Shape, { kind: "text" | "boolean" | "struct" | "integer" | "enum" }>,
  dialect: Dialect,
): Decode => {
  switch (shape.kind) {
    case "text":
      return decodeChecked("string", isText, () => "", shape.check);
    case "boolean":
      return decodeChecked(
        "boolean",
        isBoolean,
        () => false,
        () => {},
      );
    case "struct":
      return decodeChecked("object", isObject, () => ({}), shape.check);
    case "integer":
      return dialect === "protobuf" ? decodeProtoInteger(shape) : decodeInteger(shape);
    case "enum":
      return dialect === "protobuf" ? decodeProtoEnum(shape) : decodeEnum(shape);
  }
};
