import type { Sliced } from "../../pipeline/slices.ts";

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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;

/** Tokens that are handled in one turn of the event loop. */
const sliceTokens = 8_192;
/** A token takes at most a double, or two lengths, with their tags, and those of the value and entry around it. */
const mostTokenBytes = 24;

const isSeparator = (c: number): boolean => c === 0x2c || c === 0x3a;
const isBracket = (c: number): boolean => c === OPEN_OBJECT || c === OPEN_ARRAY || c === CLOSE_OBJECT || c === CLOSE_ARRAY;

/** Where the token at `at` ends. */
const tokenEnd = (json: Buffer, at: number): number => {
  const c = json[at] as number;
  let end = at + 1;
  if (isBracket(c)) return end;
  if (c === QUOTE) {
    while (end < json.length && json[end] !== QUOTE) end += json[end] === BACKSLASH ? 2 : 1;
    return end + 1;
  }
  for (let next = json[end]; next !== undefined && !isSeparator(next) && !isBracket(next); next = json[end]) end++;
  return end;
};

/** Where the tokens begin, separators left out; and behind them where the text ends. */
function* tokenize(json: Buffer): Sliced<Uint32Array> {
  let starts = new Uint32Array(1024);
  let count = 0;
  let sliceAt = 0;
  for (let at = 0; at < json.length; ) {
    if (count === starts.length) {
      const larger = new Uint32Array(2 * count);
      larger.set(starts);
      starts = larger;
    }
    starts[count++] = at;
    at = tokenEnd(json, at);
    while (isSeparator(json[at] as number)) at++;
    if (count % sliceTokens === 0) {
      yield at - sliceAt;
      sliceAt = at;
    }
  }
  return starts.subarray(0, count);
}

/** An object or array that is being written, from its end. */
interface Level {
  readonly isObject: boolean;
  /** Where its content ends. */
  readonly end: number;
  /** Objects: where the entry ends whose value is written and whose name is next; 0 when a value is next. */
  entryEnd: number;
}

/**
 * Writes compact JSON text of an object as the fields of a `google.protobuf.Struct`, without its length. From the end to
 * the beginning, since every length stands in front of what it counts: so no byte is moved twice, however deep it is.
 */
export function* textToStruct(text: string): Sliced<Uint8Array> {
  const json = Buffer.from(text);
  const starts = yield* tokenize(json);
  const out = Buffer.allocUnsafe(json.length + mostTokenBytes * starts.length);
  let at = out.length;
  const levels: Level[] = [];

  const prefix = (length: number, tag: number): void => {
    let bytes = 1;
    for (let rest = length >>> 7; rest > 0; rest >>>= 7) bytes++;
    at -= bytes;
    let rest = length;
    for (let i = 0; i < bytes; i++, rest >>>= 7) out[at + i] = i === bytes - 1 ? rest : (rest & 0x7f) | 0x80;
    out[--at] = tag;
  };

  const string = (from: number, tag: number): void => {
    const end = tokenEnd(json, from);
    const before = at;
    const raw = json.subarray(from + 1, end - 1);
    const bytes = raw.includes(BACKSLASH) ? Buffer.from(JSON.parse(json.toString("utf8", from, end)) as string) : raw;
    at -= bytes.length;
    bytes.copy(out, at);
    prefix(before - at, tag);
  };

  const scalar = (from: number): void => {
    const c = json[from];
    if (c === QUOTE) string(from, STRING_VALUE);
    else if (c === 0x6e) {
      out[--at] = 0;
      out[--at] = NULL_VALUE;
    } else if (c === 0x74 || c === 0x66) {
      out[--at] = c === 0x74 ? 1 : 0;
      out[--at] = BOOL_VALUE;
    } else {
      at -= 8;
      out.writeDoubleLE(Number(json.toString("latin1", from, tokenEnd(json, from))), at);
      out[--at] = NUMBER_VALUE;
    }
  };

  for (let i = starts.length - 1; i >= 0; i--) {
    if (i % sliceTokens === 0) yield sliceTokens;
    const from = starts[i] as number;
    const c = json[from];
    const level = levels.at(-1);
    if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
      levels.push({ isObject: c === CLOSE_OBJECT, end: at, entryEnd: 0 });
      continue;
    }
    if (level?.isObject && level.entryEnd > 0) {
      string(from, ENTRY_KEY);
      prefix(level.entryEnd - at, STRUCT_FIELDS);
      level.entryEnd = 0;
      continue;
    }
    let end = at;
    let parent = level;
    if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      end = (levels.pop() as Level).end;
      parent = levels.at(-1);
      if (parent === undefined) break;
      prefix(end - at, c === OPEN_OBJECT ? STRUCT_VALUE : LIST_VALUE);
    } else scalar(from);
    if (parent === undefined) throw new Error("no JSON text of an object");
    prefix(end - at, parent.isObject ? ENTRY_VALUE : LIST_VALUES);
    if (parent.isObject) parent.entryEnd = end;
  }
  // A copy of its own size: what is kept of it, with a cached key, would keep all of the room that was made for it.
  return new Uint8Array(out.subarray(at));
}
