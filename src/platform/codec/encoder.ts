import { textOf } from "../util/jsonText.ts";
import { oncePer } from "../util/oncePer.ts";
import { type FixedPart, fixedPartOf } from "./fixedPart.ts";
import {
  type BoxedListShape,
  type Dialect,
  type EnumShape,
  type FieldShape,
  type ListShape,
  type NullableShape,
  type ObjectShape,
  type Shape,
  zeroOf,
} from "./shape.ts";
import { splitMembers } from "./splitMembers.ts";

/** Writes a field's value as JSON text. */
type Encode = (value: unknown) => string;

type Init = Readonly<Record<string, unknown>>;

const encodeJson: Encode = (value) => JSON.stringify(value);

/** Metadata is text already. */
const encodeStruct: Encode = (value) => textOf(value as object);

const encodeBoolean: Encode = (value) => (value ? "true" : "false");

const encodeInteger: Encode = (value) => {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (!Number.isSafeInteger(number)) throw new TypeError(`an int64 field of a response holds ${String(value)}`);
  return String(number);
};

const encodeProtoInteger: Encode = (value) => `"${encodeInteger(value)}"`;

const encodeEnum = ({ name, spellings, protoNames }: EnumShape, dialect: Dialect): Encode => {
  const written = dialect === "v2" ? [...spellings] : [...protoNames].map(([spelling, number]) => [number, spelling] as const);
  const texts = new Map(written.map(([number, spelling]) => [number, JSON.stringify(spelling)]));
  return (value) => {
    const text = texts.get(value as number);
    if (text === undefined) throw new TypeError(`${name} has no spelling for ${String(value)}`);
    return text;
  };
};

const encodeList = ({ item }: ListShape, dialect: Dialect): Encode => {
  if (item.kind === "text") return encodeJson;
  const encodeItem = encoder(item, dialect);
  return (value) => {
    let text = "[";
    for (const element of value as readonly unknown[]) text += text === "[" ? encodeItem(element) : `,${encodeItem(element)}`;
    return `${text}]`;
  };
};

const encodeBoxedList = ({ local, list }: BoxedListShape, dialect: Dialect): Encode => {
  const encode = encodeList(list, dialect);
  if (dialect === "v2") return (value) => encode((value as Init)[local] ?? []);
  return (value) => {
    const items = (value as Init)[local];
    return items === undefined || isEmptyList(items) ? "{}" : `{${JSON.stringify(local)}:${encode(items)}}`;
  };
};

interface NullableInit {
  readonly kind?: { readonly case: string | undefined; readonly value?: unknown };
}

const encodeNullable = ({ value }: NullableShape, dialect: Dialect): Encode => {
  const encode = encoder(value, dialect);
  if (dialect === "v2") {
    return (init) => {
      const { kind } = init as NullableInit;
      return kind?.case === "value" ? encode(kind.value) : "null";
    };
  }
  return (init) => {
    const { kind } = init as NullableInit;
    if (kind?.case === "value") return `{"value":${encode(kind.value)}}`;
    return kind?.case === "null" ? '{"null":null}' : "{}";
  };
};

/** What a field without a value looks like; undefined: it is absent (protocol §4). */
const textOfUnset = ({ shape, explicit, alwaysPresent }: FieldShape): string | undefined => {
  if (shape.kind === "list") return alwaysPresent ? "[]" : undefined;
  if (explicit && !alwaysPresent) return undefined;
  switch (shape.kind) {
    case "text":
      return '""';
    case "boolean":
      return "false";
    case "integer":
      return "0";
    case "boxedList":
      return "[]";
    case "nullable":
      return "null";
    case "object":
    case "struct":
      return "{}";
    case "enum":
      return undefined;
  }
};

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Writes a field of a message as JSON text with its name, or undefined where it is absent. */
interface Member {
  readonly name: string;
  readonly encode: (init: Init) => string | undefined;
}

const encodeMember = (field: FieldShape, dialect: Dialect): Member => {
  const { name, local, shape } = field;
  const encode = encoder(shape, dialect);
  const prefix = `${JSON.stringify(name)}:`;
  const isList = shape.kind === "list";
  if (dialect === "protobuf") {
    // What has no presence is left out where it is zero, as the mapping wants it.
    const zero = zeroOf(field);
    return {
      name: local,
      encode: (init) => {
        const value = init[local];
        const isZero = value === undefined || (!field.explicit && (value === zero || value === 0 || isEmptyList(value)));
        return isZero ? undefined : prefix + encode(value);
      },
    };
  }
  const unset = textOfUnset(field);
  const whenUnset = unset === undefined ? undefined : prefix + unset;
  return {
    name: local,
    encode: (init) => {
      const value = init[local];
      return value === undefined || (isList && isEmptyList(value)) ? whenUnset : prefix + encode(value);
    },
  };
};

/** Adds members to `text`, which holds those before them. */
const append = (text: string, members: readonly Member[], init: Init): string => {
  let all = text;
  for (const { encode } of members) {
    const member = encode(init);
    if (member !== undefined) all = all === "" ? member : `${all},${member}`;
  }
  return all;
};

const encodeProtoObject = oncePer(({ fields }: ObjectShape): Encode => {
  const members = fields.map((field) => encodeMember(field, "protobuf"));
  return (init) => `{${append("", members, { ...fixedPartOf(init as Init)?.fields(), ...(init as Init) })}}`;
});

const encodeObject = oncePer(({ fields }: ObjectShape): Encode => {
  const members = fields.map((field) => encodeMember(field, "v2"));
  const split = splitMembers(members);

  const encodeWithFixed = (part: FixedPart, init: Init): string => {
    const { fixed, varying } = split(part.varying);
    part.json ??= append("", fixed, part.fields());
    return `{${append(part.json, varying, init)}}`;
  };

  return (init) => {
    const part = fixedPartOf(init as Init);
    return part === undefined ? `{${append("", members, init as Init)}}` : encodeWithFixed(part, init as Init);
  };
});

/**
 * Compiles the way from a message, or what `create` would take for one, to /v2 JSON (protocol §§4, 5), or to that of the
 * Protobuf mapping. int64 may be given as number or bigint. Throws a TypeError for a value that its field cannot hold.
 */
export const encoder = (shape: Shape, dialect: Dialect): Encode => {
  switch (shape.kind) {
    case "text":
      return encodeJson;
    case "struct":
      return encodeStruct;
    case "boolean":
      return encodeBoolean;
    case "integer":
      return dialect === "protobuf" ? encodeProtoInteger : encodeInteger;
    case "enum":
      return encodeEnum(shape, dialect);
    case "list":
      return encodeList(shape, dialect);
    case "boxedList":
      return encodeBoxedList(shape, dialect);
    case "nullable":
      return encodeNullable(shape, dialect);
    case "object":
      return dialect === "protobuf" ? encodeProtoObject(shape) : encodeObject(shape);
  }
};

/** Characters of an answer that are written in one go. */
const partLength: number = 256 * 1024;

/**
 * The encoder in parts: the items of a message's lists are written one by one, and what was written is yielded once it is
 * long; the rest is returned. Undefined for a type without lists.
 */
export const partEncoder = (shape: Shape, dialect: Dialect): ((init: object) => Generator<string, string>) | undefined => {
  if (shape.kind !== "object" || shape.fields.every((field) => field.shape.kind !== "list")) return undefined;
  const members = shape.fields.map((field) => ({
    whole: encodeMember(field, dialect),
    prefix: `${JSON.stringify(field.name)}:[`,
    encodeItem: field.shape.kind === "list" ? encoder(field.shape.item, dialect) : undefined,
  }));
  return function* (init) {
    let text = "";
    let before = "{";
    for (const { whole, prefix, encodeItem } of members) {
      const items = (init as Init)[whole.name];
      if (encodeItem !== undefined && Array.isArray(items) && items.length > 0) {
        text += before + prefix;
        for (let i = 0; i < items.length; i++) {
          text += i === 0 ? encodeItem(items[i]) : `,${encodeItem(items[i])}`;
          if (text.length < partLength) continue;
          yield text;
          text = "";
        }
        text += "]";
      } else {
        const member = whole.encode(init as Init);
        if (member === undefined) continue;
        text += before + member;
      }
      before = ",";
    }
    return text + (before === "{" ? "{}" : "}");
  };
};
