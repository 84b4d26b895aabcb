import { WireType } from "@bufbuild/protobuf/wire";
import { isObject } from "../../util/isObject.ts";
import type { BodyReader } from "../binary/bodyReader.ts";
import { deepestStruct } from "../valueBound.ts";

const { LengthDelimited, Varint, Bit64 } = WireType;

type JsonFields = Record<string, unknown>;

/**
 * Creates an object without a prototype, where `__proto__` is an ordinary name. V8 stores it as a hash table: creating a hidden class
 * for each new name takes two to three times as long.
 */
const emptyObject = (): JsonFields => Object.create(null);

/** Reads a `google.protobuf.Value` that ends at `end`. `value`: what it is merged into. */
const readValue = (reader: BodyReader, end: number, depth: number, value: unknown): unknown => {
  let read = value;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    if (number === 1 && wireType === Varint) {
      reader.int32();
      read = null;
    } else if (number === 2 && wireType === Bit64) read = reader.double();
    else if (number === 3 && wireType === LengthDelimited) read = reader.string(true);
    else if (number === 4 && wireType === Varint) read = reader.bool();
    else if (number === 5 && wireType === LengthDelimited)
      read = readFields(reader, reader.end(), depth + 1, isObject(read) ? read : emptyObject());
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
    if (number === 1 && wireType === LengthDelimited) items.push(readValue(reader, reader.end(), depth, null));
    else reader.pass(number, wireType);
  }
  reader.expectEnd(end);
  return items;
};

const readEntry = (reader: BodyReader, end: number, depth: number, object: JsonFields): void => {
  let name = "";
  let value: unknown = null;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    if (number === 1 && wireType === LengthDelimited) name = reader.string(true);
    else if (number === 2 && wireType === LengthDelimited) value = readValue(reader, reader.end(), depth, value);
    else reader.pass(number, wireType);
  }
  reader.expectEnd(end);
  object[name] = value;
};

const readFields = (reader: BodyReader, end: number, depth: number, object: JsonFields): JsonFields => {
  if (isTooDeep(reader, end, depth)) return object;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
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
export const readStruct = (reader: BodyReader, end: number, object: object = emptyObject()): object =>
  readFields(reader, end, 1, object as JsonFields);
