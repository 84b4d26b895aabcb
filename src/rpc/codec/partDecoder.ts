import { jsonText } from "../../util/jsonText.ts";
import type { Sliced } from "../pipeline/slices.ts";
import { decoder, emptyWrapper, isNullValue, wrap } from "./decoder.ts";
import { endSlice, isSliceDone, type JsonCursor, malformed, nextByte, tokenText } from "./json/jsonCursor.ts";
import { decodeOther, eachMember, isNullAhead, readPlain } from "./json/jsonParts.ts";
import { CLOSE_ARRAY, COMMA, OPEN_ARRAY, OPEN_OBJECT, scanShort, scanValue } from "./json/jsonScan.ts";
import { isUnset, type Member, memberNames } from "./json/memberNames.ts";
import { applyCrossRules } from "./rules/applyCrossRules.ts";
import { addFindings, type Finding, isFull, prefixFindings, report, reportMissing, reportUnknown } from "./rules/findings.ts";
import { type Decode, scalarDecoder } from "./scalarDecoder.ts";
import {
  type BoxedListShape,
  type Dialect,
  type ListShape,
  messageFactory,
  type NullableShape,
  type ObjectShape,
  type Shape,
  type StructShape,
} from "./shape.ts";
import { createStructSink } from "./struct/textSink.ts";
import { Unreadable } from "./unreadable.ts";

/** Reads the value whose first byte is at the cursor, and goes beyond it. */
type DecodePart = (cursor: JsonCursor, findings: Finding[]) => Sliced<unknown>;

const decodeWhole = (decode: Decode): DecodePart =>
  function* (cursor, findings) {
    return decode(yield* readPlain(cursor), findings);
  };

/** A way to read a value that is short, and one for any. */
interface Readers {
  readonly decodeShort: Decode;
  readonly decodePart: DecodePart;
}

const readersOf = (shape: Shape, dialect: Dialect): Readers => ({
  decodeShort: decoder(shape, dialect, keepAsText),
  decodePart: partDecoder(shape, dialect),
});

const byteAt = ({ bytes, at }: JsonCursor): number | undefined => bytes[at];

const keepAsText = (struct: object): object => jsonText(JSON.stringify(struct));

/** Reads a value if it is short, as nearly all are; undefined if it is not. */
const readShort = (cursor: JsonCursor, { decodeShort }: Readers, findings: Finding[]): { readonly is: unknown } | undefined => {
  const from = cursor.at;
  return scanShort(cursor) ? { is: decodeShort(JSON.parse(tokenText(cursor.bytes, from, cursor.at)), findings) } : undefined;
};

const decodeStruct = ({ rules }: StructShape): DecodePart =>
  function* (cursor, findings) {
    if (byteAt(cursor) !== OPEN_OBJECT) {
      yield* decodeOther(cursor, findings, "object");
      return {};
    }
    const sink = createStructSink(rules);
    yield* scanValue(cursor, sink);
    const problems = sink.problems();
    for (const problem of problems) report(findings, problem);
    return problems.length > 0 ? {} : jsonText(sink.text());
  };

const decodeList = ({ item, check, most }: ListShape, dialect: Dialect): DecodePart => {
  const readers = readersOf(item, dialect);
  return function* (cursor, findings) {
    if (byteAt(cursor) !== OPEN_ARRAY) {
      yield* decodeOther(cursor, findings, "array");
      return [];
    }
    cursor.at++;
    const items: unknown[] = [];
    const own: Finding[] = [];
    let count = 0;
    let next = yield* nextByte(cursor);
    for (let more = next !== CLOSE_ARRAY; more; count++) {
      if (isSliceDone(cursor)) yield endSlice(cursor);
      yield* nextByte(cursor);
      // With so much wrong the message means nothing any more.
      if (count >= most || isFull(own)) {
        if (!scanShort(cursor)) yield* scanValue(cursor);
      } else {
        cursor.countValue();
        const before = own.length;
        try {
          const short = readShort(cursor, readers, own);
          items.push(short === undefined ? yield* readers.decodePart(cursor, own) : short.is);
        } catch (error) {
          throw Unreadable.within(error, `[${count}]`);
        }
        if (own.length !== before) prefixFindings(own, before, `[${count}]`);
      }
      next = yield* nextByte(cursor);
      more = next === COMMA;
      if (more) cursor.at++;
    }
    if (next !== CLOSE_ARRAY) throw malformed(cursor);
    cursor.at++;
    check(count, findings);
    addFindings(findings, own);
    return items;
  };
};

const decodeNullable = (shape: NullableShape): DecodePart => {
  const decode = partDecoder(shape.value, "v2");
  return function* (cursor, findings) {
    if (!isNullAhead(cursor)) return wrap(shape, { is: yield* decode(cursor, findings) }, false, findings);
    yield* scanValue(cursor);
    return wrap(shape, undefined, true, findings);
  };
};

const decodeBoxedList = (shape: BoxedListShape): DecodePart => {
  const decode = decodeList(shape.list, "v2");
  return function* (cursor, findings) {
    return wrap(shape, { is: yield* decode(cursor, findings) }, false, findings);
  };
};

/** A wrapper in Protobuf's own JSON. */
const decodeWrapper = (shape: NullableShape | BoxedListShape): DecodePart => {
  const decode = partDecoder(shape.kind === "nullable" ? shape.value : shape.list, "protobuf");
  const valueName = shape.kind === "nullable" ? "value" : shape.local;
  return function* (cursor, findings) {
    if (byteAt(cursor) !== OPEN_OBJECT) {
      yield* decodeOther(cursor, findings, "object");
      return emptyWrapper(shape);
    }
    // Of a repeated property the last one counts, with what is wrong with it.
    let value: { readonly is: unknown } | undefined;
    let hasNull = false;
    const wrong = new Map<string, Finding[]>();
    yield* eachMember(cursor, function* (name) {
      const found: Finding[] = [];
      if (name === valueName && !isNullAhead(cursor)) value = { is: yield* decode(cursor, found) };
      else {
        const other = yield* readPlain(cursor);
        if (name === valueName) value = undefined;
        else if (name === "null" && shape.kind === "nullable") hasNull = isNullValue(other, found);
        else if (wrong.size < mostNames) reportUnknown(found, name);
      }
      if (found.length > 0) wrong.set(name, found);
      else wrong.delete(name);
    });
    for (const found of wrong.values()) addFindings(findings, found);
    return wrap(shape, value, hasNull, findings);
  };
};

/** Wrong members beyond this many are not remembered: no more findings are told. */
const mostNames = 1000;

const decodeObject = (shape: ObjectShape, dialect: Dialect): DecodePart => {
  const make = messageFactory(shape);
  const fields = memberNames(shape, dialect, (field) => readersOf(field.shape, dialect));
  const crossCheck = applyCrossRules(shape.crossRules);
  const skipsNull = dialect === "protobuf";
  return function* (cursor, findings) {
    const message = make();
    if (byteAt(cursor) !== OPEN_OBJECT) {
      yield* decodeOther(cursor, findings, "object");
      return message;
    }
    const given = new Set<string>();
    // Of a repeated property the last one counts, with what is wrong with it.
    const wrong = new Map<string, Finding[]>();
    const settle = (name: string, found: Finding[]): void => {
      if (found.length > 0) wrong.set(name, found);
      else wrong.delete(name);
    };
    function* readLong(name: string, member: Member<Readers> | undefined): Sliced<void> {
      if (member === undefined) {
        yield* scanValue(cursor);
        settleUnknown(name);
        return;
      }
      const found: Finding[] = [];
      try {
        message[member.local] = yield* member.decode.decodePart(cursor, found);
      } catch (error) {
        throw Unreadable.within(error, member.segment);
      }
      prefixFindings(found, 0, member.segment);
      settle(member.field.name, found);
    }
    const settleUnknown = (name: string): void => {
      if (shape.ignoreUnknown || wrong.size >= mostNames) return;
      const found: Finding[] = [];
      reportUnknown(found, name);
      settle(name, found);
    };
    yield* eachMember(cursor, (name) => {
      const member = fields.get(name);
      if (member === undefined) {
        if (!scanShort(cursor)) return readLong(name, member);
        settleUnknown(name);
        return;
      }
      const { field, local, segment } = member;
      if (skipsNull && isNullAhead(cursor)) {
        given.delete(local);
        message[local] = make()[local];
        settle(field.name, []);
        return scanValue(cursor);
      }
      cursor.countValue();
      given.add(local);
      const found: Finding[] = [];
      const short = readShort(cursor, member.decode, found);
      if (short === undefined) return readLong(name, member);
      message[local] = short.is;
      prefixFindings(found, 0, segment);
      settle(field.name, found);
      return;
    });
    const own: Finding[] = [];
    if (skipsNull) {
      // Protobuf's own JSON is judged in the order of its fields, as in the binary form; that of /v2 in the order of the body.
      for (const [name, found] of wrong) if (!fields.has(name)) addFindings(own, found);
      for (const field of shape.fields) {
        const found = wrong.get(field.name);
        if (found !== undefined) addFindings(own, found);
        else if (field.required && isUnset(field, given.has(field.local), message)) reportMissing(own, field.name);
      }
    } else {
      for (const found of wrong.values()) addFindings(own, found);
      for (const field of shape.fields) if (field.required && !given.has(field.local)) reportMissing(own, field.name);
    }
    crossCheck(message, own, 0);
    addFindings(findings, own);
    return message;
  };
};

/**
 * The decoder for bodies that are too large to be parsed in one turn of the event loop: reads, checks and decides alike,
 * but straight from the bytes and in slices. Objects of arbitrary content stay text (`jsonText`), of which a repeated
 * property is kept as often as it was sent: readers take the last one. Throws `Unreadable` for what is no JSON or beyond a
 * bound.
 */
export const partDecoder = (shape: Shape, dialect: Dialect): DecodePart => {
  switch (shape.kind) {
    case "list":
      return decodeList(shape, dialect);
    case "boxedList":
      return dialect === "protobuf" ? decodeWrapper(shape) : decodeBoxedList(shape);
    case "nullable":
      return dialect === "protobuf" ? decodeWrapper(shape) : decodeNullable(shape);
    case "object":
      return decodeObject(shape, dialect);
    case "struct":
      return decodeStruct(shape);
    default:
      return decodeWhole(scalarDecoder(shape, dialect));
  }
};
