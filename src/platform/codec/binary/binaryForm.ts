import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import type { Violation } from "../../base/errors.ts";
import { smallBodyBytes } from "../../http/limits.ts";
import { oncePer } from "../../util/oncePer.ts";
import { messageShape } from "../compileShape.ts";
import type { Decoded } from "../decoded.ts";
import type { Read, Reader, Writer } from "../json/jsonForm.ts";
import { inTurns, writeInTurns } from "../largeMessages.ts";
import { type Finding, prefixFindings } from "../rules/findings.ts";
import { validator } from "../rules/validator.ts";
import { chargeValues, freeValues, mostValues, tooManyValues } from "../valueBound.ts";
import { binaryEncoder } from "./binaryEncoder.ts";
import { binaryReader } from "./binaryReader.ts";
import { BodyReader } from "./bodyReader.ts";
import { boundBinary } from "./boundBinary.ts";

type Parsed = { readonly message: MessageShape<DescMessage> } | { readonly violation: Violation };

/** Compiles the reading of a message's binary form, its rules included (grpc §2): bounds, decodes, then validates. */
export const messageReader: (desc: DescMessage) => Read = oncePer((desc: DescMessage): Read => {
  const validate = validator(messageShape(desc));
  const countValues = boundBinary(desc);
  const read = binaryReader(desc);
  // Without the library's text: that quotes values, which may be secrets.
  const noMessage: Violation = { location: "body", message: `not a message ${desc.typeName}` };

  /** Bounds a body before it is decoded. Throws when its caller has had its share. */
  const bound = (body: Buffer, owner: Reader): Violation | undefined => {
    // Each value takes a byte at least.
    if (body.length <= freeValues) return undefined;
    const reader = new BodyReader(body);
    try {
      countValues(reader);
    } catch {
      return reader.values > mostValues ? tooManyValues : noMessage;
    }
    chargeValues(reader.values, owner);
    return undefined;
  };

  const parse = (body: Buffer, violation: Violation | undefined): Parsed => {
    if (violation !== undefined) return { violation };
    try {
      return { message: read(new BodyReader(body)) as MessageShape<DescMessage> };
    } catch {
      return { violation: noMessage };
    }
  };

  const finish = (parsed: Parsed): Decoded<DescMessage> => {
    if ("violation" in parsed) return { message: create(desc), violations: [parsed.violation] };
    const findings: Finding[] = [];
    validate(parsed.message, findings);
    if (findings.length > 0) prefixFindings(findings, 0, "body");
    return { message: parsed.message, violations: findings };
  };

  function* readLarge(body: Buffer, owner: Reader): Generator<void, Decoded<DescMessage>> {
    const violation = bound(body, owner);
    yield;
    const parsed = parse(body, violation);
    yield;
    const decoded = finish(parsed);
    yield;
    return decoded;
  }

  return (body, owner) => (body.length > smallBodyBytes ? inTurns(owner, readLarge(body, owner)) : finish(parse(body, bound(body, owner))));
});

/** Writes an answer in Protobuf's binary form: at once when it is short, else in its caller's turn; whoever still waits for it. */
export type WriteBinary = (init: object, writer: Writer) => Uint8Array | Promise<Uint8Array>;

/** Bytes of an answer that are written in one go. */
const partBytes: number = 256 * 1024;

/** Compiles the writing of a message's binary form. */
export const messageWriter: (desc: DescMessage) => WriteBinary = oncePer((desc: DescMessage): WriteBinary => {
  const encode = binaryEncoder(desc);
  const lists = desc.fields.filter(({ fieldKind }) => fieldKind === "list").map(({ localName }) => localName);
  if (lists.length === 0) return encode;

  // A message is the concatenation of messages that have a part of its fields each.
  function* encodeParts(init: object): Generator<Uint8Array[], Uint8Array[]> {
    const { ...rest } = init as Record<string, unknown>;
    for (const name of lists) delete rest[name];
    let chunks = [encode(rest)];
    let size = 0;
    for (const name of lists) {
      for (const item of ((init as Record<string, unknown>)[name] ?? []) as readonly unknown[]) {
        const chunk = encode({ [name]: [item] });
        chunks.push(chunk);
        size += chunk.length;
        if (size < partBytes) continue;
        yield chunks;
        chunks = [];
        size = 0;
      }
    }
    return chunks;
  }

  return (init, { path }) => {
    const parts = encodeParts(init);
    const { done, value } = parts.next();
    return done ? Buffer.concat(value) : writeInTurns(value, parts, path, Buffer.concat).then(Buffer.concat);
  };
});
