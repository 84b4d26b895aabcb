import { isObject } from "../util/isObject.ts";
import { isUnset, memberNames } from "./json/memberNames.ts";
import { applyCrossRules } from "./rules/applyCrossRules.ts";
import { type Finding, prefixFindings, report, reportMissing, reportType, reportUnknown } from "./rules/findings.ts";
import { type Decode, scalarDecoder } from "./scalarDecoder.ts";
import {
  type BoxedListShape,
  type Dialect,
  type ListShape,
  messageFactory,
  type NullableShape,
  type ObjectShape,
  type Shape,
} from "./shape.ts";

const decodeList = ({ item, check, most }: ListShape, dialect: Dialect): Decode => {
  const decodeItem = decoder(item, dialect);
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
  const decode = decodeList(list, "v2");
  return (json, findings) => ({ $typeName: typeName, [local]: decode(json, findings) });
};

const decodeNullable = ({ typeName, value }: NullableShape): Decode => {
  const decode = decoder(value, "v2");
  return (json, findings) => ({
    $typeName: typeName,
    kind: json === null ? { case: "null", value: 0 } : { case: "value", value: decode(json, findings) },
  });
};

/** A wrapper in Protobuf's own JSON, where it is the message that it is: `{"value": …}`, `{"null": null}`, `{"values": […]}`. */
const decodeWrapper = (shape: NullableShape | BoxedListShape): Decode => {
  const inner = shape.kind === "nullable" ? shape.value : shape.list;
  const decode = decoder(inner, "protobuf");
  const name = shape.kind === "nullable" ? "value" : shape.local;
  return (json, findings) => {
    if (!isObject(json)) {
      reportType(findings, json, "object");
      return emptyWrapper(shape);
    }
    let value: unknown;
    let hasNull = false;
    for (const member of Object.keys(json)) {
      if (member === name) value = json[name] === null ? undefined : { is: decode(json[name], findings) };
      else if (member === "null" && shape.kind === "nullable") hasNull = isNullValue(json.null, findings);
      else reportUnknown(findings, member);
    }
    return wrap(shape, value as { readonly is: unknown } | undefined, hasNull, findings);
  };
};

/** Whether it is the one value of google.protobuf.NullValue. */
const isNullValue = (json: unknown, findings: Finding[]): boolean => {
  if (json !== null && json !== "NULL_VALUE" && json !== 0) report(findings, "want null");
  return true;
};

/** A wrapper that has neither. */
const emptyWrapper = (shape: NullableShape | BoxedListShape): object =>
  shape.kind === "nullable" ? { $typeName: shape.typeName, kind: { case: undefined } } : { $typeName: shape.typeName, [shape.local]: [] };

/** The wrapper of what its members were found to be. */
const wrap = (
  shape: NullableShape | BoxedListShape,
  value: { readonly is: unknown } | undefined,
  hasNull: boolean,
  findings: Finding[],
): object => {
  const { typeName: $typeName } = shape;
  if (shape.kind === "boxedList") {
    if (value === undefined) shape.list.check(0, findings);
    return { $typeName, [shape.local]: value?.is ?? [] };
  }
  if (value !== undefined && hasNull) report(findings, "more than one member of 'kind' is set");
  if (value !== undefined) return { $typeName, kind: { case: "value", value: value.is } };
  if (hasNull) return { $typeName, kind: { case: "null", value: 0 } };
  report(findings, "got neither null nor a value");
  return emptyWrapper(shape);
};

const decodeObject = (shape: ObjectShape): Decode => {
  const make = messageFactory(shape);
  const fields = memberNames(shape, "v2", (field) => decoder(field.shape, "v2"));
  const required = shape.fields.filter((field) => field.required).map(({ name }) => name);
  const crossCheck = applyCrossRules(shape.crossRules);
  return (json, findings) => {
    const message = make();
    if (!isObject(json)) {
      reportType(findings, json, "object");
      return message;
    }
    const first = findings.length;
    // Object.keys and lookups in a Map see own properties only: `__proto__` is an ordinary unknown name.
    for (const name of Object.keys(json)) {
      const field = fields.get(name);
      if (field === undefined) {
        if (!shape.ignoreUnknown) reportUnknown(findings, name);
        continue;
      }
      const before = findings.length;
      message[field.local] = field.decode(json[name], findings);
      if (findings.length !== before) prefixFindings(findings, before, field.segment);
    }
    for (const name of required) {
      if (!Object.hasOwn(json, name)) reportMissing(findings, name);
    }
    crossCheck(message, findings, first);
    return message;
  };
};

/** The same in Protobuf's own JSON; after what is unknown in the order of the fields, as in the binary form. */
const decodeProtoObject = (shape: ObjectShape): Decode => {
  const make = messageFactory(shape);
  const fields = shape.fields.map((field) => ({ field, segment: `.${field.name}`, decode: decoder(field.shape, "protobuf") }));
  const names = memberNames(shape, "protobuf", () => undefined);
  const crossCheck = applyCrossRules(shape.crossRules);
  return (json, findings) => {
    const message = make();
    if (!isObject(json)) {
      reportType(findings, json, "object");
      return message;
    }
    const first = findings.length;
    for (const name of Object.keys(json)) if (!shape.ignoreUnknown && !names.has(name)) reportUnknown(findings, name);
    for (const { field, segment, decode } of fields) {
      const name = Object.hasOwn(json, field.name) ? field.name : field.protoName;
      const given = Object.hasOwn(json, name) ? json[name] : null;
      const before = findings.length;
      if (given !== null) message[field.local] = decode(given, findings);
      if (findings.length !== before) prefixFindings(findings, before, segment);
      else if (field.required && isUnset(field, given !== null, message)) reportMissing(findings, field.name);
    }
    crossCheck(message, findings, first);
    return message;
  };
};

/**
 * Compiles the way from parsed JSON to a message or value (protocol §§3, 4, 6): no coercion, null only in nullables,
 * unknown and missing fields, and every rule of the value on the way. In the dialect of Protobuf null is omission,
 * numbers may come as text, and wrappers are messages (grpc §2); the places are those of /v2. Never throws on any JSON.
 */
export const decoder = (shape: Shape, dialect: Dialect): Decode => {
  switch (shape.kind) {
    case "list":
      return decodeList(shape, dialect);
    case "boxedList":
      return dialect === "protobuf" ? decodeWrapper(shape) : decodeBoxedList(shape);
    case "nullable":
      return dialect === "protobuf" ? decodeWrapper(shape) : decodeNullable(shape);
    case "object":
      return dialect === "protobuf" ? decodeProtoObject(shape) : decodeObject(shape);
    default:
      return scalarDecoder(shape, dialect);
  }
};
