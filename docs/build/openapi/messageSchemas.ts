import { type DescEnum, type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, StructSchema } from "@bufbuild/protobuf/wkt";
import type { FieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { comments } from "../../../gen/latchkey/v2/comments.ts";
import {
  always_present,
  ignore_unknown,
  json_names,
  max_properties,
  secret,
  Wrapper,
  wrapper,
} from "../../../gen/latchkey/v2/options_pb.ts";
import { idBounds, idPrefixes } from "../../../src/platform/base/ids.ts";
import { crossRuleIds, integerRules, listRules, rulesOfField, textRules } from "../../../src/platform/codec/rules/annotations.ts";
import { fieldDefault } from "../../../src/platform/rpc/description/fieldDefault.ts";
import { plainComment } from "../../../src/platform/rpc/description/plainComment.ts";
import { crossRuleSchemas } from "./crossRuleSchemas.ts";
import { type JsonSchema, refTo } from "./jsonSchema.ts";

/** What a message is part of. Requests are closed and bounded; answers may gain fields, and have some that are always there. */
export type Role = "request" | "response";

/** Schemas of messages by the names that the document gives them. */
export interface MessageSchemas {
  /** What `/v2` writes or takes for a message: a reference, or a wrapper's value. */
  readonly schemaOf: (desc: DescMessage, role: Role) => JsonSchema;
  /** The list that a message is in the body of a request. */
  readonly listOf: (desc: DescMessage, field: string) => JsonSchema;
  /** All that were referred to so far. */
  readonly components: () => Readonly<Record<string, JsonSchema>>;
}

/** Text for readers of `/v2`: fields by their JSON names, no references to the specification. */
export const textOn = (fullName: string, fields: readonly DescField[] = []): string =>
  fields.reduce(
    (text, { name, jsonName }) => (name === jsonName ? text : text.replaceAll(new RegExp(`\\b${name}\\b`, "g"), jsonName)),
    plainComment(comments[fullName] ?? ""),
  );

const described = (schema: JsonSchema, ...texts: readonly string[]): JsonSchema => {
  const description = texts.filter((text) => text !== "").join(" ");
  return description === "" ? schema : { ...schema, description };
};

const bound = (name: string, value: number, none: number): JsonSchema => (value === none ? {} : { [name]: value });

const scalarSchema = (field: DescField, scalar: ScalarType, rules: FieldRules, role: Role): JsonSchema => {
  const place = String(field);
  if (scalar === ScalarType.BOOL) return { type: "boolean" };
  if (scalar === ScalarType.INT64) {
    const { min, max } = integerRules(place, rules);
    return { type: "integer", format: "int64", ...(role === "request" && { minimum: min, maximum: max }) };
  }
  const comment = comments[`${field.parent.typeName}.${field.name}`] ?? "";
  const idPrefix = idPrefixes.find((prefix) => comment.startsWith(`\`${prefix}_...\``));
  if (role === "response" && idPrefix !== undefined) return { type: "string", ...idBounds(idPrefix) };
  const { min, max, pattern } = textRules(place, rules);
  const isTime = /\bRFC 3339\b/.test(comment);
  const format = isTime ? "date-time" : getOption(field, secret) ? "password" : undefined;
  return {
    type: "string",
    ...(format && { format }),
    ...bound("minLength", min, 0),
    ...bound("maxLength", max, Number.POSITIVE_INFINITY),
    ...(pattern && { pattern: pattern.source }),
  };
};

const enumSchema = (desc: DescEnum, role: Role): JsonSchema => {
  const values = desc.values.map((value) => ({ value, names: getOption(value, json_names) })).filter(({ names }) => names.length > 0);
  const usual: JsonSchema = { type: "string", enum: values.map(({ names }) => names[0]) };
  const others = values.flatMap(({ names }) => names.slice(1));
  const meanings = values
    .map(({ value, names }) => [names[0], textOn(`${desc.typeName}.${value.name}`)])
    .flatMap(([name, text]) => (text === "" ? [] : [`\`${name}\`: ${text}`]));
  // Two spellings of one value in one list make two constants of one name in generated clients.
  const schema = role === "request" && others.length > 0 ? { anyOf: [usual, { type: "string", enum: others, deprecated: true }] } : usual;
  return described(schema, ...meanings);
};

const nullable = (schema: JsonSchema): JsonSchema => {
  const { type, description } = schema;
  if (typeof type === "string" && schema.enum === undefined) return { ...schema, type: [type, "null"] };
  const { description: _, ...bare } = schema;
  return described({ anyOf: [bare, { type: "null" }] }, String(description ?? ""));
};

/** Everything that `/v2` says of the messages of procedures. */
export const createMessageSchemas = (
  /** The messages that procedures take. */
  inputs: ReadonlySet<DescMessage>,
  /** Those that requests and answers hold. */
  inBothRoles: ReadonlySet<DescMessage>,
): MessageSchemas => {
  const components = new Map<string, JsonSchema>();

  const valueSchema = (field: DescField, rules: FieldRules, role: Role): JsonSchema => {
    if (field.scalar !== undefined) return scalarSchema(field, field.scalar, rules, role);
    if (field.enum !== undefined) return enumSchema(field.enum, role);
    if (field.message === undefined) throw new Error(`${String(field)}: no schema for this kind of field`);
    if (field.message.typeName !== StructSchema.typeName) return schemaOf(field.message, role);
    const properties = getOption(field, max_properties);
    return { type: "object", additionalProperties: true, ...(role === "request" && bound("maxProperties", properties, 0)) };
  };

  const listSchema = (field: DescField, role: Role): JsonSchema => {
    const { min, max, items } = listRules(String(field), rulesOfField(field));
    return {
      type: "array",
      items: valueSchema(field, items, role),
      ...(role === "request" && { ...bound("minItems", min, 0), ...bound("maxItems", max, Number.POSITIVE_INFINITY) }),
    };
  };

  const fieldSchema = (field: DescField, role: Role): JsonSchema => {
    const schema = field.fieldKind === "list" ? listSchema(field, role) : valueSchema(field, rulesOfField(field), role);
    const { description, ...bare } = schema;
    const byDefault = role === "request" ? fieldDefault(field) : undefined;
    return described(
      byDefault === undefined ? bare : { ...bare, default: byDefault },
      textOn(`${field.parent.typeName}.${field.name}`, field.parent.fields),
      String(description ?? ""),
    );
  };

  /** Answers leave out empty lists and what has no value, unless an option says otherwise. */
  const isRequired = (field: DescField, role: Role): boolean =>
    role === "request"
      ? rulesOfField(field).required
      : getOption(field, always_present) || (field.fieldKind !== "list" && field.presence === FeatureSet_FieldPresence.IMPLICIT);

  const objectSchema = (desc: DescMessage, role: Role): JsonSchema => {
    const required = desc.fields.filter((field) => isRequired(field, role)).map(({ jsonName }) => jsonName);
    const rules = role === "request" ? crossRuleSchemas(desc.typeName, crossRuleIds(desc)) : [];
    return described(
      {
        type: "object",
        properties: Object.fromEntries(desc.fields.map((field) => [field.jsonName, fieldSchema(field, role)])),
        ...(required.length > 0 && { required }),
        ...(role === "request" && { additionalProperties: getOption(desc, ignore_unknown) }),
        ...(rules.length > 0 && { allOf: rules }),
      },
      textOn(desc.typeName, desc.fields),
    );
  };

  const schemaOf: MessageSchemas["schemaOf"] = (desc, role) => {
    const wraps = getOption(desc, wrapper);
    const [first, second] = desc.fields;
    const text = textOn(desc.typeName);
    if (wraps === Wrapper.LIST && first) return described(listSchema(first, role), text);
    if (wraps === Wrapper.NULLABLE && second) {
      const value = nullable(valueSchema(second, rulesOfField(second), role));
      return text === "" ? value : { ...value, description: text };
    }
    // A request that an answer holds is there to be sent.
    const own = inputs.has(desc) ? "request" : role;
    const name = own === "request" && inBothRoles.has(desc) ? `${desc.name}Input` : desc.name;
    if (!components.has(name)) {
      components.set(name, {});
      components.set(name, objectSchema(desc, own));
    }
    return refTo(name);
  };

  return {
    schemaOf,
    listOf: (desc, name) => {
      const field = desc.fields.find((each) => each.name === name);
      if (field === undefined) throw new Error(`${desc.typeName} has no list ${name}`);
      return described(listSchema(field, "request"), textOn(`${desc.typeName}.${name}`));
    },
    components: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
};
