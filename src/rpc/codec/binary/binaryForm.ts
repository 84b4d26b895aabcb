import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { ServiceError } from "../../../domain/errors.ts";
import { heldText } from "../../../util/jsonText.ts";
import { oncePer } from "../../../util/oncePer.ts";
import { largeAnswer, wholeBody, wholeStructBody } from "../../http/limits.ts";
import type { Sliced, Slices, Worker } from "../../pipeline/slices.ts";
import { messageShape } from "../compileShape.ts";
import type { Decoded } from "../decoded.ts";
import { decodeMessage } from "../decodeMessage.ts";
import { fixedPartOf } from "../fixedPart.ts";
import { type Read, type Reader, readInTurns } from "../json/jsonForm.ts";
import { addFindings, type Finding, prefixFindings } from "../rules/findings.ts";
import { partValidator } from "../rules/partValidator.ts";
import { validator } from "../rules/validator.ts";
import { keepStructBytes, structBytes } from "../struct/structBytes.ts";
import { textToStruct } from "../struct/structWriter.ts";
import { Unreadable } from "../unreadable.ts";
import { valueCount } from "../valueCount.ts";
import { weigher } from "../weigher.ts";
import { binaryEncoder } from "./binaryEncoder.ts";
import { binaryReader } from "./binaryReader.ts";
import type { Turn } from "./wireReader.ts";

const holdsStruct = (desc: DescMessage): boolean =>
  desc.fields.some(({ message }) => message !== undefined && (message.typeName === "google.protobuf.Struct" || holdsStruct(message)));

/** Compiled once, for all services of a process. */
const readerOf = oncePer((desc: DescMessage) => {
  const shape = messageShape(desc);
  const validate = validator(shape);
  const read = binaryReader(desc);
  const validatePart = partValidator(shape);
  const atOnce = holdsStruct(desc) ? wholeStructBody : wholeBody;

  function* readLarge(body: Buffer, charge: Reader["charge"]): Sliced<Decoded<DescMessage>> {
    const turn: Turn = { used: 0, countValue: valueCount(charge) };
    const findings: Finding[] = [];
    let message: MessageShape<DescMessage>;
    try {
      message = (yield* read(body, turn, findings)) as MessageShape<DescMessage>;
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      const violation = error instanceof Unreadable ? error.violation : { location: "body", message: `not a message ${desc.typeName}` };
      return { message: create(desc), violations: [violation] };
    }
    const judged: Finding[] = [];
    yield* validatePart(message, judged, turn);
    addFindings(findings, judged);
    prefixFindings(findings, 0, "body");
    return { message, violations: findings };
  }

  return (slices: Slices): Read =>
    (body, reader) => {
      if (body.length > atOnce || !slices.mayBeWhole(body.length)) return readInTurns(slices, readLarge, body, reader);
      const { message, violation } = decodeMessage(desc, body);
      if (violation !== undefined) return { message, violations: [violation] };
      const findings: Finding[] = [];
      validate(message, findings);
      if (findings.length > 0) prefixFindings(findings, 0, "body");
      return { message, violations: findings };
    };
});

/** The reading of a message's binary form, its rules included (grpc §2). */
export const messageReader = (desc: DescMessage, slices: Slices): Read => readerOf(desc)(slices);

/** Writes an answer in Protobuf's binary form; in slices when it is large. */
export type WriteBinary = (init: object, writer: Pick<Worker, "path">) => Uint8Array | Promise<Uint8Array>;

type Fields = Readonly<Record<string, unknown>>;

/** Every long text of a message, wherever it is. */
function* longTexts(value: unknown): Generator<object> {
  if (Array.isArray(value)) for (const item of value) yield* longTexts(item);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  const text = heldText(value);
  if (text !== undefined) {
    if (text.length > wholeStructBody && structBytes(value) === undefined) yield value;
    return;
  }
  const part = fixedPartOf(value);
  if (part !== undefined && part.binary === undefined) yield* longTexts(part.fields());
  for (const name in value) yield* longTexts((value as Fields)[name]);
}

const writerOf = oncePer((desc: DescMessage): ((slices: Slices) => WriteBinary) => {
  const encode = binaryEncoder(desc);
  const weigh = weigher(messageShape(desc), ({ binary }) => binary !== undefined);
  const lists = desc.fields.filter(({ fieldKind }) => fieldKind === "list").map(({ localName }) => localName);
  if (weigh === undefined) return () => encode;

  // A message is the concatenation of messages that have a part of its fields each.
  function* encodeParts(init: object): Sliced<Uint8Array> {
    const { ...rest } = init as Record<string, unknown>;
    const items = lists.flatMap(
      (name) => ((init as Fields)[name] as readonly unknown[] | undefined)?.map((item) => ({ [name]: [item] })) ?? [],
    );
    for (const name of lists) delete rest[name];
    const chunks: Uint8Array[] = [];
    for (const part of [rest, ...items]) {
      for (const struct of longTexts(part)) keepStructBytes(struct, yield* textToStruct(heldText(struct) ?? "{}"));
      const chunk = encode(part);
      chunks.push(chunk);
      yield chunk.length;
    }
    return Buffer.concat(chunks);
  }

  return (slices) => (init, writer) =>
    weigh(init) > largeAnswer ? slices.run(encodeParts(init), { path: writer.path, signal: undefined }) : encode(init);
});

/** The writing of a message's binary form. */
export const messageWriter = (desc: DescMessage, slices: Slices): WriteBinary => writerOf(desc)(slices);
