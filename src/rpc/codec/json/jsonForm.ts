import { isUtf8 } from "node:buffer";
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { oncePer } from "../../../util/oncePer.ts";
import { awaitedRequestBytes, largeAnswer, smallBodyBytes, wholeBody } from "../../http/limits.ts";
import type { BodyOwner } from "../../http/readBody.ts";
import type { Sliced, Slices, Worker } from "../../pipeline/slices.ts";
import { messageShape } from "../compileShape.ts";
import type { Decoded } from "../decoded.ts";
import { decoder } from "../decoder.ts";
import { encoder, partEncoder } from "../encoder.ts";
import { partDecoder } from "../partDecoder.ts";
import { type Finding, prefixFindings } from "../rules/findings.ts";
import type { Dialect, Shape } from "../shape.ts";
import { Unreadable } from "../unreadable.ts";
import { weigher } from "../weigher.ts";
import { jsonCursor, malformed, nextByte } from "./jsonCursor.ts";
import { parseBody } from "./parseBody.ts";

/** Whose body is read. */
export type Reader = Worker & Pick<BodyOwner, "charge">;

/** Reads a body slice by slice. @param charge counts what its values take. */
export type ReadLarge = (body: Buffer, charge: Reader["charge"]) => Sliced<Decoded<DescMessage>>;

/** Reads a body in its caller's turns. A small one counts from now on: it may have to wait. */
export const readInTurns = (slices: Slices, readLarge: ReadLarge, body: Buffer, reader: Reader): Promise<Decoded<DescMessage>> => {
  if (body.length <= smallBodyBytes) reader.charge(awaitedRequestBytes + body.length);
  const work = readLarge(body, (bytes) => reader.charge(bytes));
  return slices.run(work, reader);
};

/**
 * Reads a request's body. At once when it is small and there is no line, else in slices, for its caller. Never fails but with the reason of
 * an aborted signal, or `service_unavailable` where its caller has had its share.
 */
export type Read = (body: Buffer, reader: Reader) => Decoded<DescMessage> | Promise<Decoded<DescMessage>>;

const located = <D extends DescMessage>(message: MessageShape<D>, violations: Finding[]): Decoded<D> => {
  if (violations.length > 0) prefixFindings(violations, 0, "body");
  return { message, violations };
};

/** Compiles what depends on descriptors alone: once, for all services of a process. */
const inDialects = <V>(compile: (desc: DescMessage, dialect: Dialect) => V): ((desc: DescMessage, dialect: Dialect) => V) => {
  const compiled: Readonly<Record<Dialect, (desc: DescMessage) => V>> = {
    v2: oncePer((desc) => compile(desc, "v2")),
    protobuf: oncePer((desc) => compile(desc, "protobuf")),
  };
  return (desc, dialect) => compiled[dialect](desc);
};

const readerOf = inDialects((desc, dialect) => {
  const shape = messageShape(desc);
  const decode = decoder(shape, dialect);
  const decodePart = partDecoder(shape, dialect);

  function* readLarge(body: Buffer, charge: Reader["charge"]): Sliced<Decoded<DescMessage>> {
    try {
      if (!isUtf8(body)) throw Unreadable.undecodable("not valid UTF-8");
      const cursor = jsonCursor(body, charge);
      const findings: Finding[] = [];
      yield* nextByte(cursor);
      const message = yield* decodePart(cursor, findings);
      yield* nextByte(cursor);
      if (cursor.at < body.length) throw malformed(cursor);
      return located(message as MessageShape<DescMessage>, findings);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return { message: create(desc), violations: [error.violation] };
    }
  }

  return (slices: Slices): Read =>
    (body, reader) => {
      if (body.length > wholeBody || !slices.mayBeWhole(body.length)) return readInTurns(slices, readLarge, body, reader);
      const parsed = parseBody(body);
      if ("violation" in parsed) return { message: create(desc), violations: [parsed.violation] };
      const findings: Finding[] = [];
      return located(decode(parsed.json, findings) as MessageShape<DescMessage>, findings);
    };
});

/** The reading of a message's JSON (protocol §§3, 4, 6; grpc §2). */
export const jsonReader = (desc: DescMessage, dialect: Dialect, slices: Slices): Read => readerOf(desc, dialect)(slices);

/** Writes an answer: as text when it is small, else in slices, in several pieces, for its caller: an answer is written whoever still waits for it. */
export type WriteJson = (init: object, writer: Pick<Worker, "path">) => string | Promise<Buffer[]>;

const leaveOut = (shape: Shape, names: readonly string[]): Shape =>
  shape.kind === "object" ? { ...shape, fields: shape.fields.filter(({ name }) => !names.includes(name)) } : shape;

const compileWriter = (shape: Shape, dialect: Dialect): ((slices: Slices) => WriteJson) => {
  const encode = encoder(shape, dialect);
  const encodeParts = partEncoder(shape, dialect);
  if (encodeParts === undefined) return () => encode;
  const weigh = weigher(shape, ({ json }) => json !== undefined);
  return (slices) => (init, writer) =>
    weigh !== undefined && weigh(init) > largeAnswer
      ? slices.run(encodeParts(init), { path: writer.path, signal: undefined })
      : encode(init);
};

const writerOf = inDialects((desc, dialect) => compileWriter(messageShape(desc), dialect));

/** The writing of a message's JSON, the fields in `without` left out. Throws, or rejects, with a TypeError for what a field cannot hold. */
export const jsonWriter = (desc: DescMessage, dialect: Dialect, slices: Slices, without: readonly string[] = []): WriteJson =>
  (without.length === 0 ? writerOf(desc, dialect) : compileWriter(leaveOut(messageShape(desc), without), dialect))(slices);
