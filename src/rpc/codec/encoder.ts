import type { BoxedListShape, EnumShape, FieldShape, ListShape, NullableShape, ObjectShape, Shape } from "./shape.ts";

/** Turns a field's value into what `JSON.stringify` writes as the contract wants it. */
type Encode = (value: unknown) => unknown;

type Init = Readonly<Record<string, unknown>>;

const asIs: Encode = (value) => value;

const encodeInteger: Encode = (value) => {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (!Number.isSafeInteger(number)) throw new TypeError(`an int64 field of a response holds ${String(value)}`);
  return number;
};

const encodeEnum =
  ({ name, spellings }: EnumShape): Encode =>
  (value) => {
    const spelling = spellings.get(value as number);
    if (spelling === undefined) throw new TypeError(`${name} has no spelling for ${String(value)}`);
    return spelling;
  };

const encodeList = ({ item }: ListShape): Encode => {
  const encodeItem = encoder(item);
  if (encodeItem === asIs) return asIs;
  return (value) => (value as readonly unknown[]).map(encodeItem);
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
    return kind?.case === "value" ? encode(kind.value) : null;
  };
};

/** What a field without a value looks like; undefined: it is absent (protocol §4). */
const jsonOfUnset = ({ shape, explicit, alwaysPresent }: FieldShape): unknown => {
  if (shape.kind === "list") return alwaysPresent ? [] : undefined;
  if (explicit && !alwaysPresent) return undefined;
  switch (shape.kind) {
    case "text":
      return "";
    case "boolean":
      return false;
    case "integer":
      return 0;
    case "boxedList":
      return [];
    case "nullable":
      return null;
    case "object":
    case "struct":
      return {};
    case "enum":
      return undefined;
  }
};

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const encodeField = (field: FieldShape): ((init: Init) => unknown) => {
  const { local, shape } = field;
  const encode = encoder(shape);
  const whenUnset = jsonOfUnset(field);
  const isList = shape.kind === "list";
  return (init) => {
    const value = init[local];
    return value === undefined || (isList && isEmptyList(value)) ? whenUnset : encode(value);
  };
};

const encodeObject = ({ fields }: ObjectShape): Encode => {
  const members = fields.map((field) => ({ name: field.name, encode: encodeField(field) }));
  const template: Record<string, unknown> = {};
  for (const { name } of members) template[name] = undefined;
  return (init) => {
    const json = { ...template };
    for (const { name, encode } of members) json[name] = encode(init as Init);
    return json;
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
    case "boolean":
      return asIs;
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
