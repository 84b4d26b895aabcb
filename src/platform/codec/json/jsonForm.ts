import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import type { PermitRequest } from "../../fairness/fairSemaphore.ts";
import type { CallerPath } from "../../fairness/fairShares.ts";
import { smallBodyBytes } from "../../http/limits.ts";
import type { BodyOwner } from "../../http/readBody.ts";
import { oncePer } from "../../util/oncePer.ts";
import { messageShape } from "../compileShape.ts";
import type { Decoded } from "../decoded.ts";
import { decoder } from "../decoder.ts";
import { encoder, partEncoder } from "../encoder.ts";
import { inTurns, writeInTurns } from "../largeMessages.ts";
import { type Finding, prefixFindings, report } from "../rules/findings.ts";
import type { Dialect, Shape } from "../shape.ts";
import { chargeValues, freeValues, mostValues, tooManyValues } from "../valueBound.ts";
import { boundJson, type JsonBounds } from "./boundJson.ts";
import { type ParsedBody, parseBody } from "./parseBody.ts";

/** Whose body is read. */
export type Reader = PermitRequest & Pick<BodyOwner, "charge">;

/**
 * Reads a request's body: at once when it is small, else in its caller's turn. Never fails but with the reason of an aborted
 * signal, or `service_unavailable` where its caller has had its share.
 */
export type Read = (body: Buffer, reader: Reader) => Decoded<DescMessage> | Promise<Decoded<DescMessage>>;

/** Compiles what depends on descriptors alone: once, for all services of a process. */
const inDialects = <V>(compile: (desc: DescMessage, dialect: Dialect) => V): ((desc: DescMessage, dialect: Dialect) => V) => {
  const compiled: Readonly<Record<Dialect, (desc: DescMessage) => V>> = {
    v2: oncePer((desc) => compile(desc, "v2")),
    protobuf: oncePer((desc) => compile(desc, "protobuf")),
  };
  return (desc, dialect) => compiled[dialect](desc);
};

const withinBounds: JsonBounds = { values: 1, isTooDeep: false };

/** Bounds a body before it is parsed. Throws when its caller has had its share. */
const bound = (body: Buffer, reader: Reader): JsonBounds => {
  // Each value and each level takes two bytes at least.
  if (body.length <= 2 * freeValues) return withinBounds;
  const bounds = boundJson(body, mostValues);
  if (bounds.values <= mostValues) chargeValues(bounds.values, reader);
  return bounds;
};

const parse = (body: Buffer, { values }: JsonBounds): ParsedBody => (values > mostValues ? { violation: tooManyValues } : parseBody(body));

/**
 * Compiles the reading of a message's JSON (protocol §§3, 4, 6; grpc §2): bounds, parses, then decodes and validates.
 */
export const jsonReader: (desc: DescMessage, dialect: Dialect) => Read = inDialects((desc, dialect) => {
  const decode = decoder(messageShape(desc), dialect);

  const finish = (parsed: ParsedBody, { isTooDeep }: JsonBounds): Decoded<DescMessage> => {
    if ("violation" in parsed) return { message: create(desc), violations: [parsed.violation] };
    const findings: Finding[] = [];
    const message = decode(parsed.json, findings) as MessageShape<DescMessage>;
    if (isTooDeep && findings.length === 0) report(findings, "is nested too deep");
    if (findings.length > 0) prefixFindings(findings, 0, "body");
    return { message, violations: findings };
  };

  function* readLarge(body: Buffer, reader: Reader): Generator<void, Decoded<DescMessage>> {
    const bounds = bound(body, reader);
    yield;
    const parsed = parse(body, bounds);
    yield;
    const decoded = finish(parsed, bounds);
    yield;
    return decoded;
  }

  return (body, reader) => {
    if (body.length > smallBodyBytes) return inTurns(reader, readLarge(body, reader));
    const bounds = bound(body, reader);
    return finish(parse(body, bounds), bounds);
  };
});

/** For whom an answer is written. */
export interface Writer {
  readonly path: CallerPath;
}

/** Writes an answer: as text when it is short, else in its caller's turn, in several pieces; whoever still waits for it. */
export type WriteJson = (init: object, writer: Writer) => string | Promise<Buffer[]>;

const leaveOut = (shape: Shape, names: readonly string[]): Shape =>
  shape.kind === "object" ? { ...shape, fields: shape.fields.filter(({ name }) => !names.includes(name)) } : shape;

const compileWriter = (shape: Shape, dialect: Dialect): WriteJson => {
  const encodeParts = partEncoder(shape, dialect);
  if (encodeParts === undefined) return encoder(shape, dialect);
  return (init, { path }) => {
    const parts = encodeParts(init);
    const { done, value } = parts.next();
    return done ? value : writeInTurns(value, parts, path, (text) => Buffer.from(text));
  };
};

const writerOf = inDialects((desc, dialect) => compileWriter(messageShape(desc), dialect));

/** The writing of a message's JSON, the fields in `without` left out. Throws, or rejects, with a TypeError for what a field cannot hold. */
export const jsonWriter = (desc: DescMessage, dialect: Dialect, without: readonly string[] = []): WriteJson =>
  without.length === 0 ? writerOf(desc, dialect) : compileWriter(leaveOut(messageShape(desc), without), dialect);
