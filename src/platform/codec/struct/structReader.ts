import { WireType } from "@bufbuild/protobuf/wire";
import { isObject } from "../../util/isObject.ts";
import type { BodyReader } from "../binary/bodyReader.ts";
import { deepestStruct } from "../valueBound.ts";

const { LengthDelimited, Varint, Bit64 } = WireType;

type JsonFields = Record<string, unknown>;

/** Sets a member of its own, also one called `__proto__`. */
const setMember = (object: JsonFields, name: string, value: unknown): void => {
  if (name === "__proto__") Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
  else object[name] = value;
};

/** Reads a `google.protobuf.Value` that ends at `end`. `value`: what it is merged into. */
const readValue = (reader: BodyReader, end: number, depth: number, value: unknown): unknown => {
  let read = value;
  for (let isFirst = true; reader.pos < end; isFirst = false) {
    const [number, wireType] = reader.tag();
    // The first one is the value, which was counted.
    if (!isFirst) reader.countValue();
    if (number === 1 && wireType === Varint) {
      reader.int32();
      read = null;
    } else if (number === 2 && wireType === Bit64) read = reader.double();
    else if (number === 3 && wireType === LengthDelimited) read = reader.string(true);
    else if (number === 4 && wireType === Varint) read = reader.bool();
    else if (number === 5 && wireType === LengthDelimited) read = readFields(reader, reader.end(), depth + 1, isObject(read) ? read : {});
    else if (number === 6 && wireType === LengthDelimited)
      read = readItems(reader, reader.end(), depth + 1, Array.isArray(read) ? read : []);
    else reader.pass(number, wireType);
  }
  reader.expectEnd(end);
  return read;
};

/** Passes over what is nested too deep: as it is that deep, the Struct is refused. */
const isTooDeep = (reader: BodyReader, end: number, depth: number): boolean => {
  if (depth <= deepestStruct) return false;
  reader.pos = end;
  return true;
};

const readItems = (reader: BodyReader, end: number, depth: number, items: unknown[]): unknown[] => {
  if (isTooDeep(reader, end, depth)) return items;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    reader.countValue();
    if (number === 1 && wireType === LengthDelimited) items.push(readValue(reader, reader.end(), depth, null));
    else reader.pass(number, wireType);
  }
  reader.expectEnd(end);
  return items;
};

const readEntry = (reader: BodyReader, end: number, depth: number, object: JsonFields): void => {
  let name = "";
  let value: unknown = null;
  for (let fields = 1; reader.pos < end; fields++) {
    const [number, wireType] = reader.tag();
    if (fields > 2) reader.countValue();
    if (number === 1 && wireType === LengthDelimited) name = reader.string(true);
    else if (number === 2 && wireType === LengthDelimited) value = readValue(reader, reader.end(), depth, value);
    else reader.pass(number, wireType);
  }
  reader.expectEnd(end);
  setMember(object, name, value);
};

const readFields = (reader: BodyReader, end: number, depth: number, object: JsonFields): JsonFields => {
  if (isTooDeep(reader, end, depth)) return object;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    reader.countValue();
    if (number === 1 && wireType === LengthDelimited) readEntry(reader, reader.end(), depth, object);
    else reader.pass(number, wireType);
  }
  reader.expectEnd(end);
  return object;
};

/**
 * Reads a `google.protobuf.Struct` that ends at `end` as the JSON object that it is. `object`: the part of it that came before.
 * Throws for what is no Struct.
 */
export const readStruct = (reader: BodyReader, end: number, object: object = {}): object =>
  readFields(reader, end, 1, object as JsonFields);
