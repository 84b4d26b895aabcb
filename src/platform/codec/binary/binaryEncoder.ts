import { type DescField, type DescMessage, type JsonObject, ScalarType } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence, StructSchema } from "@bufbuild/protobuf/wkt";
import { oncePer } from "../../util/oncePer.ts";
import { type FixedPart, fixedPartOf } from "../fixedPart.ts";
import { splitMembers } from "../splitMembers.ts";
import { encodeStruct } from "../struct/structEncoder.ts";

type Init = Readonly<Record<string, unknown>>;

/** Writes one value, of which there is one, after its tag. */
type WriteValue = (writer: BinaryWriter, value: unknown) => void;
/** Writes a field of a message, or nothing if it is not set. */
type WriteField = (writer: BinaryWriter, init: Init) => void;

interface Kind {
  readonly wireType: WireType;
  readonly write: WriteValue;
  /** The value that is not written where the field has no presence. */
  readonly zero: unknown;
}

const text: Kind = { wireType: WireType.LengthDelimited, write: (writer, value) => writer.string(value as string), zero: "" };
const boolean: Kind = { wireType: WireType.Varint, write: (writer, value) => writer.bool(value as boolean), zero: false };
const integer: Kind = { wireType: WireType.Varint, write: (writer, value) => writer.int64(value as bigint), zero: 0n };
const enumeration: Kind = { wireType: WireType.Varint, write: (writer, value) => writer.int32(value as number), zero: 0 };

/** Messages hold a Struct as a plain JSON object, or as its text. */
const struct: Kind = {
  wireType: WireType.LengthDelimited,
  write: (writer, value) => writer.bytes(encodeStruct(value as JsonObject)),
  zero: undefined,
};

const unknownKind = (field: DescField): never => {
  throw new Error(`${String(field)}: the binary encoder does not know this kind of field`);
};

const scalarKind = (field: DescField, scalar: ScalarType): Kind => {
  if (scalar === ScalarType.STRING) return text;
  if (scalar === ScalarType.BOOL) return boolean;
  return scalar === ScalarType.INT64 ? integer : unknownKind(field);
};

const messageKind = (desc: DescMessage): Kind => {
  if (desc.typeName === StructSchema.typeName) return struct;
  const write = messageWriter(desc);
  return {
    wireType: WireType.LengthDelimited,
    write: (writer, value) => {
      writer.fork();
      write(writer, value as Init);
      writer.join();
    },
    zero: undefined,
  };
};

const kindOf = (field: DescField): Kind => {
  if (field.scalar !== undefined) return scalarKind(field, field.scalar);
  if (field.enum !== undefined) return enumeration;
  return field.message === undefined ? unknownKind(field) : messageKind(field.message);
};

interface OneofInit {
  readonly case?: string | undefined;
  readonly value?: unknown;
}

/** A list of numbers or truth values: one tag and one length for all. */
const packedWriter = ({ number, localName }: DescField, write: WriteValue): WriteField => {
  const tag = ((number << 3) | WireType.LengthDelimited) >>> 0;
  return (writer, init) => {
    const items = init[localName] as readonly unknown[] | undefined;
    if (items === undefined || items.length === 0) return;
    writer.uint32(tag).fork();
    for (const item of items) write(writer, item);
    writer.join();
  };
};

const fieldWriter = (field: DescField): WriteField => {
  const { localName } = field;
  const { wireType, write, zero } = kindOf(field);
  const tag = ((field.number << 3) | wireType) >>> 0;
  const writeOne = (writer: BinaryWriter, value: unknown): void => {
    writer.uint32(tag);
    write(writer, value);
  };
  if (field.fieldKind === "list") {
    if (wireType !== WireType.LengthDelimited) return packedWriter(field, write);
    return (writer, init) => {
      const items = init[localName] as readonly unknown[] | undefined;
      if (items !== undefined) for (const item of items) writeOne(writer, item);
    };
  }
  if (field.oneof !== undefined) {
    const { localName: group } = field.oneof;
    return (writer, init) => {
      const chosen = init[group] as OneofInit | undefined;
      if (chosen?.case === localName) writeOne(writer, chosen.value);
    };
  }
  // With presence even a zero is written, and a zero number may be given as 0 or 0n.
  const hasPresence = field.presence !== FeatureSet_FieldPresence.IMPLICIT;
  return (writer, init) => {
    const value = init[localName];
    if (value === undefined || (!hasPresence && (value === zero || value === 0))) return;
    writeOne(writer, value);
  };
};

const messageWriter = oncePer((desc: DescMessage): WriteField => {
  const fields = desc.fields.map((field) => ({ name: field.oneof?.localName ?? field.localName, write: fieldWriter(field) }));
  const split = splitMembers(fields);

  // Fields may come in any order, so what is fixed goes first, as it was written before.
  const writeWithFixed = (writer: BinaryWriter, part: FixedPart, init: Init): void => {
    const { fixed, varying } = split(part.varying);
    if (part.binary === undefined) {
      const own = new BinaryWriter();
      const fields = part.fields();
      for (const { write } of fixed) write(own, fields);
      part.binary = own.finish();
    }
    writer.raw(part.binary);
    for (const { write } of varying) write(writer, init);
  };

  return (writer, init) => {
    const part = fixedPartOf(init);
    if (part !== undefined) writeWithFixed(writer, part, init);
    else for (const { write } of fields) write(writer, init);
  };
});

/** Writes a message, or what `create` would take for one, in Protobuf's binary form. */
export type BinaryEncode = (init: object) => Uint8Array;

/**
 * Compiles the binary form of a message type from its descriptor, once at start: reflection for every field of every
 * answer costs several times as much. Throws for a kind of field that no message of ours has. int64 may be given as
 * number or bigint.
 */
export const binaryEncoder = (desc: DescMessage): BinaryEncode => {
  const write = messageWriter(desc);
  let writer = new BinaryWriter();
  return (init) => {
    try {
      write(writer, init as Init);
    } catch (error) {
      // What was begun must not be part of the next message.
      writer = new BinaryWriter();
      throw error;
    }
    return writer.finish();
  };
};
