import { type DescEnum, type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import type { FieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import {
  always_present,
  array_body,
  ignore_unknown,
  json_names,
  max_json_bytes,
  max_properties,
  Wrapper,
  wrapper,
} from "../../../gen/latchkey/v2/options_pb.ts";
import { oncePer } from "../util/oncePer.ts";
import {
  crossRuleIds,
  expectEnumRules,
  expectNoRules,
  integerRules,
  listRules,
  oneofIsRequired,
  rulesOfField,
  textRules,
} from "./rules/annotations.ts";
import { type CrossRule, crossRules } from "./rules/crossRules.ts";
import type { Finding } from "./rules/findings.ts";
import { countCheck, integerCheck, textCheck } from "./rules/valueChecks.ts";
import type { BoxedListShape, EnumShape, FieldShape, ListShape, NullableShape, ObjectShape, Shape } from "./shape.ts";
import { structCheck } from "./struct/structCheck.ts";

const scalarShape = (place: string, scalar: ScalarType, rules: FieldRules): Shape => {
  if (scalar === ScalarType.STRING) return { kind: "text", check: textCheck(textRules(place, rules)) };
  if (scalar === ScalarType.INT64) return { kind: "integer", check: integerCheck(integerRules(place, rules)) };
  expectNoRules(place, rules);
  if (scalar === ScalarType.BOOL) return { kind: "boolean" };
  throw new Error(`${place}: the codec does not know scalar type ${ScalarType[scalar]}`);
};

const enumShape = (place: string, desc: DescEnum, rules: FieldRules): EnumShape => {
  expectEnumRules(place, rules);
  const numbers = new Map<string, number>();
  const spellings = new Map<number, string>();
  for (const value of desc.values) {
    const [first, ...others] = getOption(value, json_names);
    if (first === undefined) continue;
    spellings.set(value.number, first);
    for (const name of [first, ...others]) numbers.set(name, value.number);
  }
  const protoNames = new Map(desc.values.map(({ name, number }) => [name, number]));
  return { kind: "enum", name: desc.typeName, numbers, spellings, protoNames };
};

/** The shape of one value: of a singular field, or of an item of a repeated one. */
const valueShape = (field: DescField, rules: FieldRules): Shape => {
  const place = String(field);
  if (field.scalar !== undefined) return scalarShape(place, field.scalar, rules);
  if (field.enum !== undefined) return enumShape(place, field.enum, rules);
  expectNoRules(place, rules);
  if (field.message === undefined) throw new Error(`${place}: the codec does not know this kind of field`);
  if (field.message.typeName !== "google.protobuf.Struct") return messageShape(field.message);
  const bounds = { maxBytes: getOption(field, max_json_bytes), maxProperties: getOption(field, max_properties) };
  return { kind: "struct", rules: bounds, check: structCheck(bounds) };
};

const listShape = (field: DescField): ListShape => {
  const { min, max, items } = listRules(String(field), rulesOfField(field));
  return { kind: "list", item: valueShape(field, items), check: countCheck({ min, max }), most: max };
};

/** Whether the zero value, which Protobuf cannot tell from omission here, is refused in JSON as well. */
const refusesZero = (shape: Shape): boolean => {
  const findings: Finding[] = [];
  if (shape.kind === "text") shape.check("", findings);
  if (shape.kind === "integer" || shape.kind === "list") shape.check(0, findings);
  return findings.length > 0 || shape.kind === "enum";
};

const fieldShape = (field: DescField): FieldShape => {
  const place = String(field);
  if (field.oneof !== undefined) throw new Error(`${place}: the codec knows oneofs only in wrappers`);
  const rules = rulesOfField(field);
  const isList = field.fieldKind === "list";
  const explicit = !isList && field.presence !== FeatureSet_FieldPresence.IMPLICIT;
  const shape = isList ? listShape(field) : valueShape(field, rules);
  if (rules.required && !explicit && !refusesZero(shape)) {
    throw new Error(`${place}: required, but its zero value is allowed: make it optional`);
  }
  return {
    name: field.jsonName,
    protoName: field.name,
    local: field.localName,
    shape,
    required: rules.required,
    explicit,
    alwaysPresent: getOption(field, always_present),
  };
};

const nullableShape = (desc: DescMessage): NullableShape => {
  const [none, value] = desc.fields;
  const fits = none?.enum?.typeName === "google.protobuf.NullValue" && none.localName === "null" && value?.localName === "value";
  if (!fits || desc.fields.length !== 2 || desc.oneofs.length !== 1 || desc.oneofs[0]?.localName !== "kind" || !oneofIsRequired(desc)) {
    throw new Error(`${desc.typeName}: a nullable wrapper is a required oneof kind { google.protobuf.NullValue null; … value }`);
  }
  return { kind: "nullable", typeName: desc.typeName, value: valueShape(value, rulesOfField(value)) };
};

const boxedListShape = (desc: DescMessage, name: string): BoxedListShape => {
  const [list] = desc.fields;
  if (list?.fieldKind !== "list" || list.name !== name || desc.fields.length !== 1) {
    throw new Error(`${desc.typeName}: its only field must be repeated and called ${name}`);
  }
  return { kind: "boxedList", typeName: desc.typeName, local: list.localName, list: listShape(list) };
};

const crossRule = (desc: DescMessage, id: string): CrossRule => {
  const rule = crossRules.get(id);
  if (rule === undefined) throw new Error(`${desc.typeName}: the codec does not know the rule ${id}`);
  return rule;
};

const objectShape = (desc: DescMessage): ObjectShape => ({
  kind: "object",
  typeName: desc.typeName,
  fields: desc.fields.map(fieldShape),
  ignoreUnknown: getOption(desc, ignore_unknown),
  crossRules: crossRuleIds(desc).map((id) => crossRule(desc, id)),
});

/** Name of the list that a request is on /v2, where its method says so. */
const arrayBody = (desc: DescMessage): string | undefined =>
  desc.file.services
    .flatMap(({ methods }) => methods)
    .filter(({ input }) => input === desc)
    .map((method) => getOption(method, array_body))
    .find((name) => name !== "");

const readShape = (desc: DescMessage): Shape => {
  const wraps = getOption(desc, wrapper);
  if (wraps === Wrapper.NULLABLE) return nullableShape(desc);
  if (wraps === Wrapper.LIST) return boxedListShape(desc, "values");
  const list = arrayBody(desc);
  return list === undefined ? objectShape(desc) : boxedListShape(desc, list);
};

/**
 * Reads a message type's descriptor, options and annotations. Throws for what the codec does not implement, so that
 * nothing written in a .proto can be without effect. Message types must not contain themselves. Reading one is most of
 * what a start takes, and each edge and form asks for the same: it is done once.
 */
export const messageShape: (desc: DescMessage) => Shape = oncePer(readShape);
