import { isUtf8 } from "node:buffer";
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { largeAnswer, wholeBody } from "../limits.ts";
import type { Sliced, Slices } from "../slices.ts";
import type { Decoded } from "./compileCodec.ts";
import { messageShape } from "./compileShape.ts";
import { decoder } from "./decoder.ts";
import { encoder, partEncoder } from "./encoder.ts";
import { type Finding, prefixFindings } from "./findings.ts";
import { jsonCursor, malformed, skipSpace } from "./jsonScan.ts";
import { parseBody } from "./parseBody.ts";
import { partDecoder } from "./partDecoder.ts";
import type { Dialect, Shape } from "./shape.ts";
import { Unreadable } from "./unreadable.ts";
import { weigher } from "./weigher.ts";

/** Reads a request's body. At once when it is small, else in slices; never fails but with the reason of an aborted signal. */
export type Read = (body: Buffer, signal: () => AbortSignal | undefined) => Decoded<DescMessage> | Promise<Decoded<DescMessage>>;

const located = <D extends DescMessage>(message: MessageShape<D>, violations: Finding[]): Decoded<D> => {
  if (violations.length > 0) prefixFindings(violations, 0, "body");
  return { message, violations };
};

/** Compiles the reading of a message's JSON (protocol §§3, 4, 6; grpc §2). */
export const jsonReader = (desc: DescMessage, dialect: Dialect, slices: Slices): Read => {
  const shape = messageShape(desc);
  const decode = decoder(shape, dialect);
  const decodePart = partDecoder(shape, dialect);

  function* readLarge(body: Buffer): Sliced<Decoded<DescMessage>> {
    try {
      if (!isUtf8(body)) throw Unreadable.undecodable("not valid UTF-8");
      const cursor = jsonCursor(body);
      const findings: Finding[] = [];
      const message = yield* decodePart(cursor, findings);
      skipSpace(cursor);
      if (cursor.at < body.length) throw malformed(cursor);
      return located(message as MessageShape<DescMessage>, findings);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return { message: create(desc), violations: [error.violation] };
    }
  }

  return (body, signal) => {
    if (body.length > wholeBody) return slices(readLarge(body), signal());
    const parsed = parseBody(body);
    if ("violation" in parsed) return { message: create(desc), violations: [parsed.violation] };
    const findings: Finding[] = [];
    return located(decode(parsed.json, findings) as MessageShape<DescMessage>, findings);
  };
};

/** Writes an answer: as text when it is small, else in slices, in several pieces. */
export type WriteJson = (init: object) => string | Promise<Buffer[]>;

const leaveOut = (shape: Shape, names: readonly string[]): Shape =>
  shape.kind === "object" ? { ...shape, fields: shape.fields.filter(({ name }) => !names.includes(name)) } : shape;

/** Compiles the writing of a message's JSON, the fields in `without` left out. Throws, or rejects, with a TypeError for what a field cannot hold. */
export const jsonWriter = (desc: DescMessage, dialect: Dialect, slices: Slices, without: readonly string[] = []): WriteJson => {
  const shape = leaveOut(messageShape(desc), without);
  const encode = encoder(shape, dialect);
  const encodeParts = partEncoder(shape, dialect);
  if (encodeParts === undefined) return encode;
  const weigh = weigher(shape, ({ json }) => json !== undefined);
  return (init) => (weigh !== undefined && weigh(init) > largeAnswer ? slices(encodeParts(init)) : encode(init));
};
