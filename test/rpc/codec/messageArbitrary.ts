import { create, type DescField, type DescMessage, getOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { type FieldRules, FieldRulesSchema, field as fieldOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import fc from "fast-check";
import { codePoint } from "../../support/codePoint.ts";

/** How the values of one kind of message are made. */
interface Values {
  text(rules: FieldRules): fc.Arbitrary<string>;
  integer(rules: FieldRules): fc.Arbitrary<bigint>;
  enumeration(numbers: readonly number[]): fc.Arbitrary<number>;
  list(item: fc.Arbitrary<unknown>, rules: FieldRules, isText: boolean): fc.Arbitrary<unknown[]>;
  /** Whether required fields may be unset and wrappers empty. */
  readonly partial: boolean;
}

const textBounds = (rules: FieldRules) => {
  const value = rules.type.case === "string" ? rules.type.value : undefined;
  return { min: Number(value?.minLen ?? 0), max: Number(value?.maxLen ?? 0), pattern: value?.pattern ?? "" };
};

const integerBounds = (rules: FieldRules) => {
  const value = rules.type.case === "int64" ? rules.type.value : undefined;
  return { min: value?.greaterThan.value ?? 0n, max: value?.lessThan.value ?? 0n };
};

const listBounds = (rules: FieldRules) => {
  const value = rules.type.case === "repeated" ? rules.type.value : undefined;
  return { min: Number(value?.minItems ?? 0), max: Number(value?.maxItems ?? 0), items: value?.items ?? create(FieldRulesSchema) };
};

const around = [-1, 0, 1];
const words = ["", "a", "ab", "abc", "documents.read", "key_1234", "with space", "line\n", "nul\u0000", "😀😀", "é", "admin:*"];

/** On both sides of every bound and of every pattern, in one-unit and two-unit characters. */
const anyValues: Values = {
  text: (rules) => {
    const { min, max } = textBounds(rules);
    const lengths = [min, max].flatMap((bound) => around.map((step) => bound + step)).filter((length) => length > 0 && length <= 2000);
    const atBounds = lengths.flatMap((length) => ["a".repeat(length), "😀".repeat(length)]);
    return fc.oneof(fc.constantFrom(...words, ...atBounds), fc.string({ unit: "grapheme", maxLength: 8 }), fc.constant("abcdefgh"));
  },
  integer: (rules) => {
    const { min, max } = integerBounds(rules);
    const atBounds = [min, max].flatMap((bound) => around.map((step) => bound + BigInt(step)));
    return fc.oneof(fc.constantFrom(0n, 1n, 1000n, ...atBounds), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.bigInt(1n, 31n));
  },
  enumeration: (numbers) => fc.constantFrom(...numbers, 99),
  list: (item, rules, isText) => {
    const { max } = listBounds(rules);
    const short = fc.array(item, { maxLength: 3 });
    if (max === 0 || !isText) return short;
    // Repeats one item that is mostly valid: the codec does not check items beyond the bound.
    const long = fc.constantFrom(max, max + 1).map((length) => Array<unknown>(length).fill("abcdefgh"));
    return fc.oneof({ arbitrary: short, weight: 9 }, { arbitrary: long, weight: 1 });
  },
  partial: true,
};

const validValues: Values = {
  text: (rules) => {
    const { min, max, pattern } = textBounds(rules);
    const maxLength = max === 0 ? min + 30 : Math.min(max, min + 30);
    return fc.string({ unit: pattern === "" ? codePoint : fc.constantFrom(..."abcXYZ019_"), minLength: min, maxLength });
  },
  integer: (rules) => {
    const { min, max } = integerBounds(rules);
    return fc.bigInt(min, max);
  },
  enumeration: (numbers) => fc.constantFrom(...(numbers.length > 1 ? numbers.filter((number) => number !== 0) : numbers)),
  list: (item, rules) => fc.array(item, { minLength: listBounds(rules).min, maxLength: listBounds(rules).min + 2 }),
  partial: false,
};

/** Any JSON object that Protobuf can carry: no lone surrogates, no negative zero. */
const struct: fc.Arbitrary<object> = fc
  .dictionary(
    fc.oneof(fc.constantFrom("__proto__", "constructor", "a.b", "$set", ""), fc.string({ unit: "grapheme" })),
    fc.jsonValue({ maxDepth: 3, stringUnit: "grapheme" }),
    { maxKeys: 4 },
  )
  .map((value) => JSON.parse(JSON.stringify(value)));

const single = (field: DescField, rules: FieldRules, values: Values): fc.Arbitrary<unknown> => {
  if (field.enum !== undefined) return values.enumeration(field.enum.values.map(({ number }) => number));
  if (field.scalar === ScalarType.STRING) return values.text(rules);
  if (field.scalar === ScalarType.INT64) return values.integer(rules);
  if (field.scalar === ScalarType.BOOL) return fc.boolean();
  if (field.message?.typeName === "google.protobuf.Struct") return struct;
  if (field.message === undefined) throw new Error(`no arbitrary for ${String(field)}`);
  return messages(field.message, values);
};

const member = (field: DescField, values: Values): fc.Arbitrary<unknown> => {
  const rules = getOption(field, fieldOption);
  if (field.fieldKind === "list")
    return values.list(single(field, listBounds(rules).items, values), rules, field.scalar === ScalarType.STRING);
  const value = single(field, rules, values);
  const always = field.presence === FeatureSet_FieldPresence.IMPLICIT || (rules.required && !values.partial);
  return always ? value : fc.option(value, { nil: undefined, freq: 4 });
};

/** The wrappers' `oneof kind`. */
const kind = (desc: DescMessage, values: Values): fc.Arbitrary<unknown> => {
  const set = desc.fields.map((field) =>
    single(field, getOption(field, fieldOption), values).map((value) => ({ case: field.localName, value })),
  );
  return fc.oneof(...set, ...set, ...(values.partial ? [fc.constant({ case: undefined })] : []));
};

const messages = (desc: DescMessage, values: Values): fc.Arbitrary<Message> => {
  const shape: Record<string, fc.Arbitrary<unknown>> = { $typeName: fc.constant(desc.typeName) };
  for (const field of desc.fields) {
    if (field.oneof === undefined) shape[field.localName] = member(field, values);
    else shape.kind = kind(desc, values);
  }
  return fc.record(shape).map((message) => message as unknown as Message);
};

/** Messages as a Protobuf reader would make them, valid and not. */
export const anyMessage = (desc: DescMessage): fc.Arbitrary<Message> => messages(desc, anyValues);

/** Messages whose fields are all valid on their own. */
export const fieldwiseValidMessage = (desc: DescMessage): fc.Arbitrary<Message> => messages(desc, validValues);
