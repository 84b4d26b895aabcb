import { type DescField, type DescMessage, getOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { type FieldRules, field as fieldOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import fc from "fast-check";

const words = ["", "a", "ab", "abc", "documents.read", "key_1234", "with space", "line\n", "nul\u0000", "😀😀", "é", "admin:*"];

/** Texts around the bounds of a field, in one-unit and two-unit characters, and texts that its pattern may refuse. */
const text = (rules: FieldRules | undefined): fc.Arbitrary<string> => {
  const value = rules?.type.case === "string" ? rules.type.value : undefined;
  const bounds = [Number(value?.minLen ?? 0), Number(value?.maxLen ?? 0)].flatMap((bound) => [bound - 1, bound, bound + 1]);
  const lengths = [...new Set(bounds.filter((length) => length > 0 && length <= 2000))];
  const atBounds = lengths.flatMap((length) => ["a".repeat(length), "😀".repeat(length)]);
  return fc.oneof(fc.constantFrom(...words, ...atBounds), fc.string({ unit: "grapheme", maxLength: 8 }), fc.constant("abcdefgh"));
};

const integer = (rules: FieldRules | undefined): fc.Arbitrary<bigint> => {
  const value = rules?.type.case === "int64" ? rules.type.value : undefined;
  const bounds = [value?.greaterThan.value ?? 0n, value?.lessThan.value ?? 0n].flatMap((bound) => [bound - 1n, bound, bound + 1n]);
  return fc.oneof(fc.constantFrom(0n, 1n, 1000n, ...bounds), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.bigInt(1n, 31n));
};

/** Any JSON object that Protobuf can carry: no lone surrogates, no negative zero. */
const struct: fc.Arbitrary<object> = fc
  .dictionary(
    fc.oneof(fc.constantFrom("__proto__", "constructor", "a.b", "$set", ""), fc.string({ unit: "grapheme" })),
    fc.jsonValue({ maxDepth: 3, stringUnit: "grapheme" }),
    {
      maxKeys: 4,
    },
  )
  .map((value) => JSON.parse(JSON.stringify(value)));

const single = (field: DescField, rules: FieldRules | undefined, defined: boolean): fc.Arbitrary<unknown> => {
  if (field.enum !== undefined) {
    const numbers = field.enum.values.map(({ number }) => number);
    return defined ? fc.constantFrom(...numbers.slice(numbers.length > 1 ? 1 : 0)) : fc.constantFrom(...numbers, 99);
  }
  if (field.scalar === ScalarType.STRING) return text(rules);
  if (field.scalar === ScalarType.INT64) return integer(rules);
  if (field.scalar === ScalarType.BOOL) return fc.boolean();
  if (field.message?.typeName === "google.protobuf.Struct") return struct;
  if (field.message === undefined) throw new Error(`no arbitrary for ${String(field)}`);
  return messageArbitrary(field.message, defined);
};

/** Lists within their bounds, and some that are one too long, of one repeated item that is likely to be valid. */
const list = (field: DescField, rules: FieldRules, defined: boolean): fc.Arbitrary<unknown[]> => {
  const bounds = rules.type.case === "repeated" ? rules.type.value : undefined;
  const item = single(field, bounds?.items, defined);
  const most = Number(bounds?.maxItems ?? 0n);
  const short = fc.array(item, { maxLength: 3 });
  if (most === 0 || field.message !== undefined) return short;
  const long = fc.constantFrom(most, most + 1).map((length) => Array<unknown>(length).fill("abcdefgh"));
  return fc.oneof({ arbitrary: short, weight: 9 }, { arbitrary: long, weight: 1 });
};

const member = (field: DescField, defined: boolean): fc.Arbitrary<unknown> => {
  const rules = getOption(field, fieldOption);
  if (field.fieldKind === "list") return list(field, rules, defined);
  const value = single(field, rules, defined);
  return field.presence === FeatureSet_FieldPresence.IMPLICIT ? value : fc.option(value, { nil: undefined, freq: 4 });
};

/** The wrappers' `oneof kind`. */
const kind = (desc: DescMessage, defined: boolean): fc.Arbitrary<unknown> => {
  const set = desc.fields.map((field) =>
    single(field, getOption(field, fieldOption), defined).map((value) => ({ case: field.localName, value })),
  );
  return fc.oneof(...set, ...set, ...(defined ? [] : [fc.constant({ case: undefined })]));
};

/**
 * Messages of a type as a Protobuf reader would make them, valid and not, with values on both sides of every bound.
 * With `defined`, enums and wrappers always hold something that /v2 JSON can say.
 */
export const messageArbitrary = (desc: DescMessage, defined = false): fc.Arbitrary<Message> => {
  const shape: Record<string, fc.Arbitrary<unknown>> = { $typeName: fc.constant(desc.typeName) };
  for (const field of desc.fields) {
    if (field.oneof === undefined) shape[field.localName] = member(field, defined);
    else shape.kind = kind(desc, defined);
  }
  return fc.record(shape).map((message) => message as unknown as Message);
};
