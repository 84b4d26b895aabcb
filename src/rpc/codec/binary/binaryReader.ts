import { create, type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { array_body, max_json_bytes, max_properties, Wrapper, wrapper } from "../../../../gen/latchkey/v2/options_pb.ts";
import { jsonText } from "../../../util/jsonText.ts";
import { oncePer } from "../../../util/oncePer.ts";
import type { Sliced } from "../../pipeline/slices.ts";
import { listRules, rulesOfField } from "../rules/annotations.ts";
import { type Finding, prefixFindings, report } from "../rules/findings.ts";
import { structToText } from "../struct/structReader.ts";
import { createStructSink } from "../struct/textSink.ts";
import { Unreadable } from "../unreadable.ts";
import { endTurn, expectEnd, isLongText, longUtf8, skipGroup, type Turn, use, utf8 } from "./wireReader.ts";

/** Reads a message or Struct; what is wrong with it goes to `findings`. */
type ReadInner = (bytes: Uint8Array, turn: Turn, findings: Finding[]) => Sliced<unknown>;

interface FieldPlan {
  readonly local: string;
  /** Name of the oneof that it is in. */
  readonly group: string | undefined;
  readonly wireType: WireType;
  readonly isText: boolean;
  /** Of a field that holds neither a text nor a message. */
  readonly readScalar: ((reader: BinaryReader) => unknown) | undefined;
  readonly readInner: ReadInner | undefined;
  readonly isList: boolean;
  /** Items of a list from this one on are counted only. */
  readonly most: number;
  /** What it adds to the place of a violation; wrappers add nothing. */
  readonly segment: string;
}

const structReader = (field: DescField): ReadInner => {
  const rules = { maxBytes: getOption(field, max_json_bytes), maxProperties: getOption(field, max_properties) };
  return function* (bytes, turn, findings) {
    const sink = createStructSink(rules);
    yield* structToText(bytes, sink, turn);
    const problems = sink.problems();
    for (const problem of problems) report(findings, problem);
    return problems.length > 0 ? {} : jsonText(sink.text());
  };
};

const scalarReader = (field: DescField): ((reader: BinaryReader) => unknown) => {
  if (field.enum !== undefined) return (reader) => reader.int32();
  if (field.scalar === ScalarType.INT64) return (reader) => reader.int64();
  if (field.scalar === ScalarType.BOOL) return (reader) => reader.bool();
  throw new Error(`${String(field)}: the binary reader does not know this kind of field`);
};

const isArrayBody = ({ parent, name }: DescField): boolean =>
  parent.file.services.some(({ methods }) => methods.some((method) => method.input === parent && getOption(method, array_body) === name));

const planOf = (field: DescField): FieldPlan => {
  const isList = field.fieldKind === "list";
  const isText = field.scalar === ScalarType.STRING;
  const isInner = field.message !== undefined;
  const isHidden = getOption(field.parent, wrapper) !== Wrapper.UNSPECIFIED || isArrayBody(field);
  const inner = field.message?.typeName === "google.protobuf.Struct" ? structReader(field) : field.message && messageReader(field.message);
  return {
    local: field.localName,
    group: field.oneof?.localName,
    wireType: isText || isInner ? WireType.LengthDelimited : WireType.Varint,
    isText,
    readScalar: isInner || isText ? undefined : scalarReader(field),
    readInner: inner,
    isList,
    most: isList ? listRules(String(field), rulesOfField(field)).max : 0,
    segment: isHidden ? "" : `.${field.jsonName}`,
  };
};

/**
 * Parts that a message may come in, empty ones not counted: no writer makes more than a few, and each that is kept costs
 * far more memory than the byte that it may consist of.
 */
const mostParts = 64;

const tooManyParts = (): Unreadable => new Unreadable(`comes in more than ${mostParts} parts`, "send it in one");

/** Reads a value that is no message. */
function* readPlain({ readScalar }: FieldPlan, reader: BinaryReader, turn: Turn): Sliced<unknown> {
  if (readScalar !== undefined) return readScalar(reader);
  const bytes = reader.bytes();
  return isLongText(bytes, turn) ? yield* longUtf8(bytes, turn) : utf8(bytes);
}

/** Adds the items of a packed list; those from `most` on are counted only. */
function* readPacked({ readScalar, most }: FieldPlan, bytes: Uint8Array, turn: Turn, items: unknown[]): Sliced<void> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    if (use(turn, 0)) yield endTurn(turn);
    turn.countValue();
    const item = readScalar?.(reader);
    if (items.length < most) items.push(item);
    else items.length++;
  }
  expectEnd(reader);
}

/** Reads a value of its own, with its place. */
function* readAt(read: ReadInner, bytes: Uint8Array, turn: Turn, findings: Finding[], segment: string): Sliced<unknown> {
  const before = findings.length;
  try {
    return yield* read(bytes, turn, findings);
  } catch (error) {
    throw Unreadable.within(error, segment);
  } finally {
    prefixFindings(findings, before, segment);
  }
}

const compileReader = (desc: DescMessage): ReadInner => {
  const fields = new Map(desc.fields.map((field) => [field.number, planOf(field)]));
  return function* (bytes, turn, findings) {
    const message = create(desc) as unknown as Record<string, unknown>;
    const reader = new BinaryReader(bytes);
    // A message that comes in several parts is their concatenation: that is what merging them means.
    const parts = new Map<FieldPlan, Uint8Array[]>();
    /** What was there of another member of its oneof is gone. */
    const choose = (field: FieldPlan): void => {
      for (const other of parts.keys()) if (other !== field && other.group === field.group) parts.delete(other);
      message[field.group as string] = { case: field.local };
    };
    while (reader.pos < reader.len) {
      if (use(turn, 0)) yield endTurn(turn);
      const [number, wireType] = reader.tag();
      const field = fields.get(number);
      if (field?.isList && field.readScalar !== undefined && wireType === WireType.LengthDelimited) {
        yield* readPacked(field, reader.bytes(), turn, message[field.local] as unknown[]);
        continue;
      }
      if (field === undefined || field.wireType !== wireType) {
        if (wireType === WireType.StartGroup) yield* skipGroup(reader, number, turn);
        else reader.skip(wireType, number);
        continue;
      }
      turn.countValue();
      const { local, group, readInner, isList, most, segment } = field;
      if (isList) {
        const items = message[local] as unknown[];
        const index = items.length;
        if (index >= most) {
          reader.skip(wireType, number);
          items.length = index + 1;
        } else if (readInner === undefined) items.push(yield* readPlain(field, reader, turn));
        else items.push(yield* readAt(readInner, reader.bytes(), turn, findings, `${segment}[${index}]`));
      } else if (readInner !== undefined) {
        if (group !== undefined) choose(field);
        const known = parts.get(field) ?? [];
        parts.set(field, known);
        const part = reader.bytes();
        if (part.length > 0 && known.push(part) > mostParts) throw Unreadable.within(tooManyParts(), segment);
      } else if (group === undefined) message[local] = yield* readPlain(field, reader, turn);
      else {
        choose(field);
        message[group] = { case: local, value: yield* readPlain(field, reader, turn) };
      }
    }
    expectEnd(reader);
    for (const [{ local, group, readInner, segment }, chunks] of parts) {
      const whole = chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
      const value = yield* readAt(readInner as ReadInner, whole, turn, findings, segment);
      if (group === undefined) message[local] = value;
      else message[group] = { case: local, value };
    }
    return message;
  };
};

/** A reader keeps nothing of what it reads: one serves every field and request with messages of its type. */
const messageReader: (desc: DescMessage) => ReadInner = oncePer(compileReader);

/**
 * Compiles the way from a request's binary form to its message for those that are too large, or hold too much, for one
 * turn of the event loop. The same as the library's `fromBinary`, but in slices, without quadratic merging, a Struct as
 * `jsonText`, and no item of a list beyond those that its rules allow (they are counted). Throws for what is no message,
 * `Unreadable` for what is beyond a bound.
 */
export const binaryReader = (desc: DescMessage): ReadInner => messageReader(desc);
