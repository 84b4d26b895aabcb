import { applyCrossRules } from "./applyCrossRules.ts";
import { type Finding, prefixFindings, report, reportMissing, reportType, reportUnknown } from "./findings.ts";
import {
  type BoxedListShape,
  type EnumShape,
  type IntegerShape,
  type ListShape,
  messageFactory,
  type NullableShape,
  type ObjectShape,
  type Shape,
} from "./shape.ts";

/** Turns parsed JSON into a field's value. What is of another type becomes an empty value: given, as the rules over several fields see it. */
type Decode = (json: unknown, findings: Finding[]) => unknown;

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

const decodeList = ({ item, check, most }: ListShape): Decode => {
  const decodeItem = decoder(item);
  return (json, findings) => {
    if (!Array.isArray(json)) {
      reportType(findings, json, "array");
      return [];
    }
    check(json.length, findings);
    const items: unknown[] = [];
    for (let index = 0; index < json.length && index < most; index++) {
      const before = findings.length;
      items.push(decodeItem(json[index], findings));
      if (findings.length !== before) prefixFindings(findings, before, `[${index}]`);
    }
    return items;
  };
};

const decodeBoxedList = ({ typeName, local, list }: BoxedListShape): Decode => {
  const decode = decodeList(list);
  return (json, findings) => ({ $typeName: typeName, [local]: decode(json, findings) });
};

const decodeNullable = ({ typeName, value }: NullableShape): Decode => {
  const decode = decoder(value);
  return (json, findings) => ({
    $typeName: typeName,
    kind: json === null ? { case: "null", value: 0 } : { case: "value", value: decode(json, findings) },
  });
};

const decodeObject = (shape: ObjectShape): Decode => {
  const make = messageFactory(shape);
  const fields = new Map(
    shape.fields.map(({ name, local, shape: value }) => [name, { local, segment: `.${name}`, decode: decoder(value) }]),
  );
  const required = shape.fields.filter((field) => field.required).map(({ name }) => name);
  const crossCheck = applyCrossRules(shape.crossRules);
  return (json, findings) => {
    const message = make();
    if (typeof json !== "object" || json === null || Array.isArray(json)) {
      reportType(findings, json, "object");
      return message;
    }
    const first = findings.length;
    // Object.entries and lookups in a Map see own properties only: `__proto__` is an ordinary unknown name.
    const given = json as Readonly<Record<string, unknown>>;
    for (const name of Object.keys(given)) {
      const field = fields.get(name);
      if (field === undefined) {
        if (!shape.ignoreUnknown) reportUnknown(findings, name);
        continue;
      }
      const before = findings.length;
      message[field.local] = field.decode(given[name], findings);
      if (findings.length !== before) prefixFindings(findings, before, field.segment);
    }
    for (const name of required) {
      if (!Object.hasOwn(given, name)) reportMissing(findings, name);
    }
    crossCheck(message, findings, first);
    return message;
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
const isObject = (json: unknown): json is object => typeof json === "object" && json !== null && !Array.isArray(json);

/**
 * Compiles the way from parsed JSON to a message or value (protocol §§3, 4, 6): no coercion, null only in nullables,
 * unknown and missing fields, and every rule of the value on the way. Never throws on any JSON.
 */
export const decoder = (shape: Shape): Decode => {
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
      return decodeInteger(shape);
    case "enum":
      return decodeEnum(shape);
    case "list":
      return decodeList(shape);
    case "boxedList":
      return decodeBoxedList(shape);
    case "nullable":
      return decodeNullable(shape);
    case "object":
      return decodeObject(shape);
  }
};
