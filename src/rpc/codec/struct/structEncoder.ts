import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

const tag = (field: number, wireType: WireType): number => (field << 3) | wireType;

/** Fields of `google.protobuf.Struct`, of an entry of its map, of `Value` and of `ListValue`. */
const STRUCT_FIELDS: number = tag(1, WireType.LengthDelimited);
const ENTRY_KEY: number = tag(1, WireType.LengthDelimited);
const ENTRY_VALUE: number = tag(2, WireType.LengthDelimited);
const NULL_VALUE: number = tag(1, WireType.Varint);
const NUMBER_VALUE: number = tag(2, WireType.Bit64);
const STRING_VALUE: number = tag(3, WireType.LengthDelimited);
const BOOL_VALUE: number = tag(4, WireType.Varint);
const STRUCT_VALUE: number = tag(5, WireType.LengthDelimited);
const LIST_VALUE: number = tag(6, WireType.LengthDelimited);
const LIST_VALUES: number = tag(1, WireType.LengthDelimited);

const writeValue = (writer: BinaryWriter, value: JsonValue): void => {
  if (value === null) writer.uint32(NULL_VALUE).int32(0);
  else if (typeof value === "number") writer.uint32(NUMBER_VALUE).double(value);
  else if (typeof value === "string") writer.uint32(STRING_VALUE).string(value);
  else if (typeof value === "boolean") writer.uint32(BOOL_VALUE).bool(value);
  else if (Array.isArray(value)) {
    writer.uint32(LIST_VALUE).fork();
    for (const item of value) {
      writer.uint32(LIST_VALUES).fork();
      writeValue(writer, item);
      writer.join();
    }
    writer.join();
  } else {
    writer.uint32(STRUCT_VALUE).fork();
    encodeStruct(writer, value);
    writer.join();
  }
};

/**
 * Writes the fields of a JSON object as those of a `google.protobuf.Struct`, without its length. An answer of analytics
 * has up to hundreds of thousands of them, for which building messages first would hold up the event loop.
 */
export const encodeStruct = (writer: BinaryWriter, object: JsonObject): void => {
  for (const [key, value] of Object.entries(object)) {
    writer.uint32(STRUCT_FIELDS).fork();
    writer.uint32(ENTRY_KEY).string(key);
    writer.uint32(ENTRY_VALUE).fork();
    writeValue(writer, value);
    writer.join().join();
  }
};
