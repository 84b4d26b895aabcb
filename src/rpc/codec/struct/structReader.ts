import { isUtf8 } from "node:buffer";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { Sliced } from "../../pipeline/slices.ts";
import { endTurn, expectEnd, type Turn, use, utf8 } from "../binary/wireReader.ts";
import { deepest } from "../json/jsonScan.ts";
import { Unreadable } from "../unreadable.ts";
import type { TextSink } from "./textSink.ts";

/** An object or array that is being written. */
interface Level {
  readonly reader: BinaryReader;
  readonly isObject: boolean;
  isEmpty: boolean;
}

const { LengthDelimited, Varint, Bit64, StartGroup } = WireType;

/** Fields of one map entry, or of one value, of which there should be two and one. */
const mostFields = 64;

/** Reads the fields of a map entry or value, which are few and hold no group. `take` says whether it was one it knows. */
const eachField = (bytes: Uint8Array, take: (reader: BinaryReader, field: number, wireType: WireType) => boolean): number => {
  const reader = new BinaryReader(bytes);
  let count = 0;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (++count > mostFields || wireType === StartGroup) throw new Error("not a Struct");
    if (!take(reader, field, wireType)) reader.skip(wireType, field);
  }
  expectEnd(reader);
  return count;
};

/** A text as JSON, unless it is too long for the object that it is in. Throws for what is not UTF-8. */
const quote = (bytes: Uint8Array, sink: TextSink): string => {
  if (sink.mayHold(bytes.length)) return JSON.stringify(utf8(bytes));
  if (!isUtf8(bytes)) throw new Error("not UTF-8");
  return '""';
};

const numberText = (value: number): string => {
  if (!Number.isFinite(value)) throw new Unreadable("holds a number that is too large for a double");
  return JSON.stringify(value);
};

/**
 * Writes the fields of a `google.protobuf.Struct` as JSON text, in slices and without recursion. Of a member of a map
 * entry or value that is given more than once the last counts, also where Protobuf would merge messages: no writer
 * writes that. Throws for what is no Struct, `Unreadable` for one that JSON cannot hold.
 */
export function* structToText(bytes: Uint8Array, sink: TextSink, turn: Turn): Sliced<void> {
  const levels: Level[] = [];
  const open = (inner: Uint8Array, isObject: boolean): void => {
    if (levels.length === deepest) throw new Unreadable(`is nested more than ${deepest} levels deep`);
    levels.push({ reader: new BinaryReader(inner), isObject, isEmpty: true });
    sink.write(isObject ? "{" : "[");
  };

  /** Writes a value, or begins to. */
  const writeValue = (value: Uint8Array): void => {
    let text = "null";
    let inner: Uint8Array | undefined;
    let isObject = false;
    let textBytes = 0;
    const fields = eachField(value, (reader, field, wireType) => {
      if ((field === 5 || field === 6) && wireType === LengthDelimited) {
        inner = reader.bytes();
        isObject = field === 5;
        return true;
      }
      if (field === 1 && wireType === Varint) {
        reader.int32();
        text = "null";
      } else if (field === 2 && wireType === Bit64) text = numberText(reader.double());
      else if (field === 3 && wireType === LengthDelimited) {
        const bytes = reader.bytes();
        textBytes += bytes.length;
        text = quote(bytes, sink);
      } else if (field === 4 && wireType === Varint) text = reader.bool() ? "true" : "false";
      else return false;
      inner = undefined;
      return true;
    });
    use(turn, fields + textBytes);
    if (inner === undefined) sink.write(text);
    else open(inner, isObject);
  };

  const writeEntry = (entry: Uint8Array): void => {
    let name: Uint8Array = new Uint8Array();
    let value: Uint8Array = new Uint8Array();
    eachField(entry, (reader, field, wireType) => {
      if (wireType !== LengthDelimited || field > 2) return false;
      if (field === 1) name = reader.bytes();
      else value = reader.bytes();
      return true;
    });
    use(turn, name.length);
    const quoted = quote(name, sink);
    if (levels.length === 1) sink.property(quoted.length, () => quoted);
    sink.write(`${quoted}:`);
    writeValue(value);
  };

  open(bytes, true);
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const { reader, isObject } = level;
    if (reader.pos >= reader.len) {
      expectEnd(reader);
      sink.write(isObject ? "}" : "]");
      levels.pop();
      continue;
    }
    if (use(turn, 0)) yield endTurn(turn);
    const [field, wireType] = reader.tag();
    if (wireType === StartGroup) throw new Error("not a Struct");
    if (field !== 1 || wireType !== LengthDelimited) {
      reader.skip(wireType, field);
      continue;
    }
    const item = reader.bytes();
    if (!level.isEmpty) sink.write(",");
    level.isEmpty = false;
    if (isObject) writeEntry(item);
    else writeValue(item);
  }
}
