import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { heldText } from "../../util/jsonText.ts";

/** Tags of the fields of `google.protobuf.Struct`, of an entry of its map, of `Value` and of `ListValue`, one byte each. */
const STRUCT_FIELDS = 0x0a;
const ENTRY_KEY = 0x0a;
const ENTRY_VALUE = 0x12;
const NULL_VALUE = 0x08;
const NUMBER_VALUE = 0x11;
const STRING_VALUE = 0x1a;
const BOOL_VALUE = 0x20;
const STRUCT_VALUE = 0x2a;
const LIST_VALUE = 0x32;
const LIST_VALUES = 0x0a;

/** Bytes of the room that is kept for the next Struct. */
const keptRoom: number = 64 * 1024;

/**
 * Writes from the end to the beginning, since each length is in front of what it counts: no byte is moved twice, however
 * deep it is nested.
 */
class BackwardWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(keptRoom);
  #at: number = keptRoom;

  /** Bytes that were written. */
  get size(): number {
    return this.#bytes.length - this.#at;
  }

  /** Forgets what was written before. */
  begin(): void {
    if (this.#bytes.length > keptRoom) this.#bytes = Buffer.allocUnsafeSlow(keptRoom);
    this.#at = this.#bytes.length;
  }

  /** A copy of what was written. */
  written(): Uint8Array {
    return new Uint8Array(this.#bytes.subarray(this.#at));
  }

  /** Makes room for so many bytes. Returns where they begin. */
  #take(bytes: number): number {
    if (bytes > this.#at) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.#bytes.length + bytes));
      const at = larger.length - this.size;
      this.#bytes.copy(larger, at, this.#at);
      this.#bytes = larger;
      this.#at = at;
    }
    this.#at -= bytes;
    return this.#at;
  }

  byte(value: number): void {
    const at = this.#take(1);
    this.#bytes[at] = value;
  }

  double(value: number): void {
    const at = this.#take(8);
    this.#bytes.writeDoubleLE(value, at);
  }

  string(text: string): void {
    const at = this.#take(Buffer.byteLength(text));
    this.#bytes.write(text, at);
  }

  /** The tag and the length of what has been written since there were `before` bytes. */
  prefix(tag: number, before: number): void {
    const length = this.size - before;
    let bytes = 1;
    for (let rest = length >>> 7; rest > 0; rest >>>= 7) bytes++;
    const at = this.#take(bytes + 1);
    this.#bytes[at] = tag;
    let rest = length;
    for (let i = 1; i <= bytes; i++, rest >>>= 7) this.#bytes[at + i] = i === bytes ? rest : (rest & 0x7f) | 0x80;
  }
}

const writer = new BackwardWriter();

const writeString = (text: string, tag: number): void => {
  const before = writer.size;
  writer.string(text);
  writer.prefix(tag, before);
};

const writeValue = (value: JsonValue): void => {
  const before = writer.size;
  if (typeof value === "string") writeString(value, STRING_VALUE);
  else if (typeof value === "number") {
    writer.double(value);
    writer.byte(NUMBER_VALUE);
  } else if (typeof value === "boolean") {
    writer.byte(value ? 1 : 0);
    writer.byte(BOOL_VALUE);
  } else if (value === null) {
    writer.byte(0);
    writer.byte(NULL_VALUE);
  } else if (Array.isArray(value)) {
    for (let i = value.length - 1; i >= 0; i--) {
      const end = writer.size;
      writeValue(value[i] as JsonValue);
      writer.prefix(LIST_VALUES, end);
    }
    writer.prefix(LIST_VALUE, before);
  } else {
    writeFields(value);
    writer.prefix(STRUCT_VALUE, before);
  }
};

const writeFields = (object: JsonObject): void => {
  const names = Object.keys(object);
  for (let i = names.length - 1; i >= 0; i--) {
    const name = names[i] as string;
    const before = writer.size;
    writeValue(object[name] as JsonValue);
    writer.prefix(ENTRY_VALUE, before);
    writeString(name, ENTRY_KEY);
    writer.prefix(STRUCT_FIELDS, before);
  }
};

/** Writes a JSON object, or the text of one (`jsonText`), as a `google.protobuf.Struct`. */
export const encodeStruct = (object: JsonObject): Uint8Array => {
  const text = heldText(object);
  writer.begin();
  writeFields(text === undefined ? object : (JSON.parse(text) as JsonObject));
  return writer.written();
};
