import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { comments } from "../../../../gen/latchkey/v2/comments.ts";
import { json_names, secret, Wrapper, wrapper } from "../../../../gen/latchkey/v2/options_pb.ts";
import { rulesOfField } from "../../codec/rules/annotations.ts";
import { fieldDefault } from "./fieldDefault.ts";

/**
 * What a value is. `time` is an integer in Unix milliseconds, `timestamp` a text of RFC 3339, `duration` an integer in
 * milliseconds, `struct` any JSON object.
 */
export type FieldKind = "text" | "boolean" | "integer" | "time" | "timestamp" | "duration" | "enum" | "struct" | "object";

/** A field of /v2 JSON, for people and for programs that talk to them. */
export interface DescribedField {
  /** In JSON. */
  readonly name: string;
  readonly kind: FieldKind;
  readonly isList: boolean;
  /** What says that there is none, where that is another thing than leaving the field out. */
  readonly none: null | readonly [] | undefined;
  readonly required: boolean;
  /** Requests: the value of a field that is left out, as text; empty where there is no such value. */
  readonly default: string;
  readonly secret: boolean;
  /** What the interface says of it; empty when that is nothing. */
  readonly comment: string;
  /** The spellings of an enum, as answers have them. */
  readonly values: readonly string[];
  /** Of an object, or of the objects of a list. */
  readonly fields: readonly DescribedField[];
}

const commentOn = (fullName: string): string => comments[fullName] ?? "";

const spellings = ({ enum: desc }: DescField): string[] =>
  (desc?.values ?? []).flatMap((value) => getOption(value, json_names).slice(0, 1));

const kindOf = (field: DescField, comment: string): FieldKind => {
  if (field.enum !== undefined) return "enum";
  if (field.message !== undefined) return field.message.typeName === StructSchema.typeName ? "struct" : "object";
  if (field.scalar === ScalarType.STRING) return /\bRFC 3339\b/.test(comment) ? "timestamp" : "text";
  if (field.scalar === ScalarType.BOOL) return "boolean";
  // The interface has one kind of integer: its comments say which are points in time and which lengths of it.
  if (/\bUnix ms\b/.test(comment)) return "time";
  return /\bmilliseconds\b/i.test(comment) ? "duration" : "integer";
};

/** The field whose value stands in JSON: wrappers are not there. */
export const unwrapField = (
  field: DescField,
): { readonly inner: DescField; readonly isList: boolean; readonly none: DescribedField["none"] } => {
  const wraps = field.message && getOption(field.message, wrapper);
  const [first, second] = field.message?.fields ?? [];
  if (wraps === Wrapper.NULLABLE && second !== undefined) return { ...unwrapField(second), none: null };
  if (wraps === Wrapper.LIST && first !== undefined) return { inner: first, isList: true, none: [] };
  return { inner: field, isList: field.fieldKind === "list", none: undefined };
};

/** Messages must not contain themselves, as for the codec. */
export const describeField = (field: DescField): DescribedField => {
  const { inner, isList, none } = unwrapField(field);
  // What is alike in several places is said once, where the type is.
  const ofType = inner === field ? "" : commentOn(field.message?.typeName ?? "");
  const comment = [commentOn(`${field.parent.typeName}.${field.name}`), ofType].filter((text) => text !== "").join(" ");
  const kind = kindOf(inner, comment);
  return {
    name: field.jsonName,
    kind,
    isList,
    none,
    required: rulesOfField(field).required,
    default: String(fieldDefault(field) ?? ""),
    secret: getOption(field, secret),
    comment,
    values: spellings(inner),
    fields: kind === "object" && inner.message ? describeFields(inner.message) : [],
  };
};

/** The fields of a message in the order of its declaration. */
export const describeFields = (desc: DescMessage): DescribedField[] => desc.fields.map(describeField);
