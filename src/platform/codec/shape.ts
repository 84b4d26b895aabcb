import { oncePer } from "../util/oncePer.ts";
import type { CrossRule } from "./rules/crossRules.ts";
import type { Check } from "./rules/findings.ts";
import type { StructRules } from "./struct/structCheck.ts";

/** The JSON of /v2, or that of the Protobuf mapping, which Connect speaks (grpc §2). */
export type Dialect = "v2" | "protobuf";

/**
 * What the codec knows of a message after start-up: descriptors, options and annotations boiled down to what decoding,
 * checking and encoding need. Wrapper messages have become shapes of their own.
 */
export type Shape =
  | TextShape
  | BooleanShape
  | IntegerShape
  | EnumShape
  | StructShape
  | ListShape
  | BoxedListShape
  | NullableShape
  | ObjectShape;

interface TextShape {
  readonly kind: "text";
  readonly check: Check<string>;
}

interface BooleanShape {
  readonly kind: "boolean";
}

/** int64: a bigint in messages, a number in JSON. */
export interface IntegerShape {
  readonly kind: "integer";
  readonly check: Check<number>;
}

export interface EnumShape {
  readonly kind: "enum";
  readonly name: string;
  /** Accepted spelling → number. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Number → the spelling that is written. */
  readonly spellings: ReadonlyMap<number, string>;
  /** Name in the .proto → number, in Protobuf's own JSON. */
  readonly protoNames: ReadonlyMap<string, number>;
}

/** `google.protobuf.Struct`, which messages hold as a plain JSON object. */
export interface StructShape {
  readonly kind: "struct";
  readonly rules: StructRules;
  readonly check: Check<object>;
}

export interface ListShape {
  readonly kind: "list";
  readonly item: Shape;
  /** Judges the number of items. */
  readonly check: Check<number>;
  /** Items from this index on are not looked at: their number is already refused. */
  readonly most: number;
}

/** A message whose only field is a list, which it is in JSON: list wrappers and array bodies. */
export interface BoxedListShape {
  readonly kind: "boxedList";
  readonly typeName: string;
  /** Name of the list in the message. */
  readonly local: string;
  readonly list: ListShape;
}

/** A message with `oneof kind { NullValue null; value }`, in JSON null or the value. */
export interface NullableShape {
  readonly kind: "nullable";
  readonly typeName: string;
  readonly value: Shape;
}

export interface ObjectShape {
  readonly kind: "object";
  readonly typeName: string;
  readonly fields: readonly FieldShape[];
  readonly ignoreUnknown: boolean;
  readonly crossRules: readonly CrossRule[];
}

export interface FieldShape {
  /** In JSON. */
  readonly name: string;
  /** In the .proto; Protobuf's own JSON accepts it as well. */
  readonly protoName: string;
  /** In messages. */
  readonly local: string;
  readonly shape: Shape;
  readonly required: boolean;
  /** Unset is another thing than the zero value. Never true for a list. */
  readonly explicit: boolean;
  /** Written even without a value. */
  readonly alwaysPresent: boolean;
}

/** The value that an unset field with implicit presence has in a message; undefined for one with explicit presence. */
export const zeroOf = ({ shape, explicit }: FieldShape): unknown => {
  if (explicit) return undefined;
  if (shape.kind === "text") return "";
  if (shape.kind === "boolean") return false;
  if (shape.kind === "integer") return 0n;
  if (shape.kind === "enum") return 0;
  return [];
};

/**
 * Makes empty messages of one type as plain objects, equal to what `create(schema)` makes, all with one hidden class:
 * fields with explicit presence are there as undefined.
 */
export const messageFactory: (shape: ObjectShape) => () => Record<string, unknown> = oncePer(({ typeName, fields }) => {
  const template: Record<string, unknown> = { $typeName: typeName };
  for (const field of fields) template[field.local] = zeroOf(field);
  const lists = fields.filter(({ shape }) => shape.kind === "list").map(({ local }) => local);
  return () => {
    const message = { ...template };
    for (const list of lists) message[list] = [];
    return message;
  };
});
