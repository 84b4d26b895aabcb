import { type DescField, type DescMessage, getOption, isFieldSet, type Message } from "@bufbuild/protobuf";
import {
  EnumRulesSchema,
  type FieldRules,
  FieldRulesSchema,
  field as fieldOption,
  Int64RulesSchema,
  MessageRulesSchema,
  message as messageOption,
  OneofRulesSchema,
  oneof as oneofOption,
  RepeatedRulesSchema,
  RuleSchema,
  StringRulesSchema,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

/** Bounds of a text in code points, and the pattern that the whole of it matches. */
export interface TextRules {
  readonly min: number;
  readonly max: number;
  readonly pattern: RegExp | undefined;
}

/** Bounds of an integer, both allowed. */
export interface IntegerRules {
  readonly min: number;
  readonly max: number;
}

/** Bounds of the number of items, and the rules of each. */
export interface ListRules {
  readonly min: number;
  readonly max: number;
  readonly items: FieldRules;
}

/** Everything between -(2^53-1) and 2^53-1 (protocol §4). */
const safeIntegers: IntegerRules = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER };

/** An annotation without an implementation must not pass unnoticed: the service does not start (DESIGN: rules are written once). */
const refuseUnknown = (place: string, schema: DescMessage, rules: Message, known: readonly string[]): void => {
  const unknown = schema.fields.find((field) => isFieldSet(rules, field) && !known.includes(field.name));
  if (unknown !== undefined || (rules.$unknown ?? []).length > 0) {
    throw new Error(`${place}: the codec does not know the annotation ${schema.name}.${unknown?.name ?? "(unknown)"}`);
  }
};

/** The protovalidate rules of a field. Throws for one that the codec does not implement. */
export const rulesOfField = (field: DescField): FieldRules => {
  const rules = getOption(field, fieldOption);
  refuseUnknown(String(field), FieldRulesSchema, rules, ["required", "string", "int64", "enum", "repeated"]);
  return rules;
};

const expectCase = (place: string, rules: FieldRules, want: FieldRules["type"]["case"]): void => {
  if (rules.type.case !== undefined && rules.type.case !== want) throw new Error(`${place}: rules for ${rules.type.case} on another type`);
};

/** A field of a type that has no rules. */
export const expectNoRules = (place: string, rules: FieldRules): void => expectCase(place, rules, undefined);

/** One character class over the whole text: the form in which RE2 and JavaScript cannot differ. */
const simplePattern = /^\^\[[^\]]+\]\+\$$/;

export const textRules = (place: string, rules: FieldRules): TextRules => {
  expectCase(place, rules, "string");
  if (rules.type.case !== "string") return { min: 0, max: Number.POSITIVE_INFINITY, pattern: undefined };
  const text = rules.type.value;
  refuseUnknown(place, StringRulesSchema, text, ["min_len", "max_len", "pattern"]);
  if (text.pattern !== "" && !simplePattern.test(text.pattern)) throw new Error(`${place}: a pattern must be ^[…]+$`);
  return {
    min: Number(text.minLen),
    max: isFieldSet(text, StringRulesSchema.field.maxLen) ? Number(text.maxLen) : Number.POSITIVE_INFINITY,
    pattern: text.pattern === "" ? undefined : new RegExp(text.pattern, "u"),
  };
};

export const integerRules = (place: string, rules: FieldRules): IntegerRules => {
  expectCase(place, rules, "int64");
  if (rules.type.case !== "int64") return safeIntegers;
  const { value } = rules.type;
  refuseUnknown(place, Int64RulesSchema, value, ["gte", "lte"]);
  return {
    min: value.greaterThan.case === "gte" ? Number(value.greaterThan.value) : safeIntegers.min,
    max: value.lessThan.case === "lte" ? Number(value.lessThan.value) : safeIntegers.max,
  };
};

export const listRules = (place: string, rules: FieldRules): ListRules => {
  expectCase(place, rules, "repeated");
  const none: FieldRules = getOption(FieldRulesSchema.field.required, fieldOption);
  if (rules.type.case !== "repeated") return { min: 0, max: Number.POSITIVE_INFINITY, items: none };
  const { value } = rules.type;
  refuseUnknown(place, RepeatedRulesSchema, value, ["min_items", "max_items", "items"]);
  return {
    min: Number(value.minItems),
    max: isFieldSet(value, RepeatedRulesSchema.field.maxItems) ? Number(value.maxItems) : Number.POSITIVE_INFINITY,
    items: value.items ?? none,
  };
};

/** Only values that the enum defines: the one rule that the codec keeps for every enum. */
export const expectEnumRules = (place: string, rules: FieldRules): void => {
  expectCase(place, rules, "enum");
  if (rules.type.case === "enum") refuseUnknown(place, EnumRulesSchema, rules.type.value, ["defined_only"]);
};

/** Ids of the rules over several fields of a message. */
export const crossRuleIds = (desc: DescMessage): readonly string[] => {
  const rules = getOption(desc, messageOption);
  refuseUnknown(desc.typeName, MessageRulesSchema, rules, ["cel"]);
  for (const rule of rules.cel) refuseUnknown(desc.typeName, RuleSchema, rule, ["id", "message", "expression"]);
  return rules.cel.map((rule) => rule.id);
};

/** Whether one member of the message's only oneof must be set. */
export const oneofIsRequired = (desc: DescMessage): boolean =>
  desc.oneofs.every((member) => {
    const rules = getOption(member, oneofOption);
    refuseUnknown(String(member), OneofRulesSchema, rules, ["required"]);
    return rules.required;
  });
