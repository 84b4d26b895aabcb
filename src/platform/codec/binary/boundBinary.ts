import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { ListValueSchema, StructSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { deepestStruct } from "../valueBound.ts";
import type { BodyReader } from "./bodyReader.ts";

/** How the fields of a message count. */
interface Layout {
  /** The number of fields that do not count: in a Struct, a name and its value are one value, as in JSON. */
  readonly free: number;
  /** An object or array of a Struct. */
  readonly isLevel: boolean;
  /** Messages by field number. */
  readonly messages: Map<number, Layout>;
  /** Field numbers of lists that may be packed. */
  readonly packable: ReadonlySet<number>;
}

const { LengthDelimited } = WireType;

/** Field number of the value in a map entry. */
const ENTRY_VALUE = 2;
const entryOf = (value: Layout): Layout => ({ free: 2, isLevel: false, messages: new Map([[ENTRY_VALUE, value]]), packable: new Set() });

const layouts = new Map<DescMessage, Layout>();
const layoutOf = (desc: DescMessage): Layout => {
  const known = layouts.get(desc);
  if (known !== undefined) return known;
  const { typeName, fields } = desc;
  const packable = fields.filter(({ fieldKind, message, scalar }) => fieldKind === "list" && !message && scalar !== ScalarType.STRING);
  const layout: Layout = {
    free: typeName === ValueSchema.typeName ? 1 : 0,
    isLevel: typeName === StructSchema.typeName || typeName === ListValueSchema.typeName,
    messages: new Map(),
    packable: new Set(packable.map(({ number }) => number)),
  };
  // Before its fields: a Struct may contain Structs.
  layouts.set(desc, layout);
  for (const { fieldKind, number, message } of fields) {
    if (message) layout.messages.set(number, fieldKind === "map" ? entryOf(layoutOf(message)) : layoutOf(message));
  }
  return layout;
};

const countFields = (reader: BodyReader, { free, messages, packable }: Layout, end: number, depth: number): void => {
  for (let index = 0; reader.pos < end; index++) {
    const [number, wireType] = reader.tag();
    if (index >= free) reader.countValue();
    if (wireType !== LengthDelimited) {
      reader.pass(number, wireType);
      continue;
    }
    const fieldEnd = reader.end();
    const message = messages.get(number);
    const fieldDepth = message?.isLevel ? depth + 1 : depth;
    if (message !== undefined && fieldDepth <= deepestStruct) countFields(reader, message, fieldEnd, fieldDepth);
    else if (packable.has(number)) for (; reader.pos < fieldEnd; reader.countValue()) reader.uint32();
    else reader.pos = fieldEnd;
  }
  reader.expectEnd(end);
};

/**
 * Compiles a pass over a request's binary form that counts its values (`BodyReader.values`) and creates nothing. Skips what is nested
 * too deep. Throws when the bytes are not Protobuf or hold too many values.
 */
export const boundBinary = (desc: DescMessage): ((reader: BodyReader) => void) => {
  const layout = layoutOf(desc);
  return (reader) => countFields(reader, layout, reader.len, 0);
};
