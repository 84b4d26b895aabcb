import { type FixedPart, fixedPartOf } from "../../domain/fixedPart.ts";
import { partingInHalves } from "./halves.ts";
import type { BoxedListShape, EnumShape, FieldShape, ListShape, NullableShape, ObjectShape, Shape } from "./shape.ts";

/** Writes a field's value as JSON text. */
type Encode = (value: unknown) => string;

type Init = Readonly<Record<string, unknown>>;

const encodeJson: Encode = (value) => JSON.stringify(value);

const encodeBoolean: Encode = (value) => (value ? "true" : "false");

const encodeInteger: Encode = (value) => {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (!Number.isSafeInteger(number)) throw new TypeError(`an int64 field of a response holds ${String(value)}`);
  return String(number);
};

const encodeEnum = ({ name, spellings }: EnumShape): Encode => {
  const texts = new Map([...spellings].map(([number, spelling]) => [number, JSON.stringify(spelling)]));
  return (value) => {
    const text = texts.get(value as number);
    if (text === undefined) throw new TypeError(`${name} has no spelling for ${String(value)}`);
    return text;
  };
};

const encodeList = ({ item }: ListShape): Encode => {
  if (item.kind === "text") return encodeJson;
  const encodeItem = encoder(item);
  return (value) => {
    let text = "[";
    for (const element of value as readonly unknown[]) text += text === "[" ? encodeItem(element) : `,${encodeItem(element)}`;
    return `${text}]`;
  };
};

const encodeBoxedList = ({ local, list }: BoxedListShape): Encode => {
  const encode = encodeList(list);
  return (value) => encode((value as Init)[local] ?? []);
};

interface NullableInit {
  readonly kind?: { readonly case: string | undefined; readonly value?: unknown };
}

const encodeNullable = ({ value }: NullableShape): Encode => {
  const encode = encoder(value);
  return (init) => {
    const { kind } = init as NullableInit;
    return kind?.case === "value" ? encode(kind.value) : "null";
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

const encodeMember = (field: FieldShape): Member => {
  const { name, local, shape } = field;
  const encode = encoder(shape);
  const prefix = `${JSON.stringify(name)}:`;
  const unset = textOfUnset(field);
  const whenUnset = unset === undefined ? undefined : prefix + unset;
  const isList = shape.kind === "list";
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

const encodeObject = ({ fields }: ObjectShape): Encode => {
  const members = fields.map(encodeMember);
  const halvesOf = partingInHalves(members);

  const encodeWithFixed = (part: FixedPart, init: Init): string => {
    const { fixed, varying } = halvesOf(part.varying);
    part.json ??= append("", fixed, part.fields());
    return `{${append(part.json, varying, init)}}`;
  };

  return (init) => {
    const part = fixedPartOf(init as Init);
    return part === undefined ? `{${append("", members, init as Init)}}` : encodeWithFixed(part, init as Init);
  };
};

/**
 * Compiles the way from a message, or what `create` would take for one, to /v2 JSON (protocol §§4, 5). int64 may be
 * given as number or bigint. Throws a TypeError for a value that its field cannot hold.
 */
export const encoder = (shape: Shape): Encode => {
  switch (shape.kind) {
    case "text":
    case "struct":
      return encodeJson;
    case "boolean":
      return encodeBoolean;
    case "integer":
      return encodeInteger;
    case "enum":
      return encodeEnum(shape);
    case "list":
      return encodeList(shape);
    case "boxedList":
      return encodeBoxedList(shape);
    case "nullable":
      return encodeNullable(shape);
    case "object":
      return encodeObject(shape);
  }
};
