import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CreateIdentityRequestSchema } from "../../../gen/latchkey/v2/identities_pb.ts";
import { VerifyKeyRequestSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import { binaryReader } from "../../../src/platform/codec/binary/binaryReader.ts";
import { BodyReader } from "../../../src/platform/codec/binary/bodyReader.ts";
import { boundBinary } from "../../../src/platform/codec/binary/boundBinary.ts";
import { boundJson } from "../../../src/platform/codec/json/boundJson.ts";
import { codePoint } from "../../support/codePoint.ts";
import { sized } from "../../support/sized.ts";
import { anyMessage } from "./messageArbitrary.ts";
import { requests } from "./services.ts";

/** The number of values in a body. */
const countValues = (desc: DescMessage, bytes: Uint8Array): number => {
  const reader = new BodyReader(bytes);
  boundBinary(desc)(reader);
  return reader.values;
};
const ours = (desc: DescMessage, bytes: Uint8Array): unknown => {
  countValues(desc, bytes);
  return binaryReader(desc)(new BodyReader(bytes));
};
const library = (desc: DescMessage, bytes: Uint8Array): unknown =>
  fromBinary(desc, bytes, { readUnknownFields: false, recursionLimit: 10_000 });
const outcome = (read: typeof ours, desc: DescMessage, bytes: Uint8Array): unknown => {
  try {
    return read(desc, bytes);
  } catch {
    return "no message";
  }
};

const named = requests.map((desc) => [desc.name, desc] as const);

describe("the binary form of requests is read as the Protobuf library reads it", () => {
  test.each(named)("[grpc §2] %s, also of several messages merged", (_, desc) => {
    fc.assert(
      fc.property(fc.array(anyMessage(desc), { minLength: 1, maxLength: 3 }), (messages) => {
        const bytes = Buffer.concat(messages.map((message) => toBinary(desc, create(desc, message))));
        expect(ours(desc, bytes)).toEqual(library(desc, bytes));
      }),
      { numRuns: sized(30, 150) },
    );
  });

  test("[grpc §2] a Struct of any JSON, in any number of parts", () => {
    const object = fc.dictionary(
      fc.oneof(fc.constantFrom("a", "__proto__", "constructor", ""), fc.string({ unit: codePoint })),
      fc.jsonValue({ stringUnit: codePoint }),
    );
    fc.assert(
      fc.property(fc.array(object, { maxLength: 3 }), (objects) => {
        const parts = objects.map((meta) =>
          toBinary(CreateIdentityRequestSchema, create(CreateIdentityRequestSchema, { meta: meta as never })),
        );
        const bytes = Buffer.concat(parts);
        expect(JSON.stringify(ours(CreateIdentityRequestSchema, bytes))).toBe(JSON.stringify(library(CreateIdentityRequestSchema, bytes)));
      }),
      { numRuns: sized(200, 1_000) },
    );
  });

  test("[grpc §2] whatever Protobuf it is", () => {
    const bytes = fc.uint8Array({ maxLength: 12 });
    const unknown = fc.tuple(fc.constantFrom(90, 91), fc.constantFrom(0, 1, 2, 3, 4, 5), bytes);
    const message = fc.constantFrom(...requests).chain((desc) => {
      const known = desc.fields.map((field) => [field.number, field.scalar === 9 || field.message !== undefined ? 2 : 0] as const);
      const given = fc
        .constantFrom(...known, [90, 2] as const)
        .chain(([number, type]) => bytes.map((value) => [number, type, value] as const));
      return fc.tuple(fc.constant(desc), fc.array(fc.oneof(given, unknown)), fc.constant(new Map(known)));
    });
    /** Where the library does not look at the form of a field that it knows, whatever else that makes of its bytes. */
    const isForeign = (known: ReadonlyMap<number, number>, body: Uint8Array): boolean => {
      const reader = new BinaryReader(body);
      try {
        while (reader.pos < reader.len) {
          const [number, type] = reader.tag();
          if ((known.get(number) ?? type) !== type) return true;
          reader.skip(type, number);
        }
      } catch {
        // Broken, and told so by both.
      }
      return false;
    };
    fc.assert(
      fc.property(message, ([desc, fields, known]) => {
        const body = fields
          .reduce((writer, [number, type, value]) => {
            writer.tag(number, type);
            return type === 2 ? writer.bytes(value) : writer.raw(value);
          }, new BinaryWriter())
          .finish();
        fc.pre(!isForeign(known, body));
        const [read, expected] = [outcome(ours, desc, body), outcome(library, desc, body)];
        // The library lets a message in a message go on beyond its end, and does not look at the form of fields within it.
        if (read !== "no message" && expected !== "no message" && !desc.fields.some((field) => field.message !== undefined))
          expect(read).toEqual(expected);
        if (expected === "no message") expect(read).toBe("no message");
      }),
      { numRuns: sized(300, 2_000) },
    );
  });
});

describe("the values of a body are bounded", () => {
  const { externalId, meta, ratelimits } = CreateIdentityRequestSchema.field;
  const text = new BinaryWriter().tag(externalId.number, 2).string("x").finish();
  const struct = (object: object): Uint8Array => toBinary(StructSchema, create(StructSchema, object));
  const one = struct({ fields: { a: { kind: { case: "numberValue", value: 1 } } } });
  const within = (number: number, bytes: Uint8Array): Uint8Array => new BinaryWriter().tag(number, 2).bytes(bytes).finish();
  const times = (count: number, bytes: Uint8Array): Buffer => Buffer.alloc(count * bytes.length, bytes);

  const kinds: readonly (readonly [string, (count: number) => Buffer])[] = [
    ["empty messages of a list", (count) => times(count, within(ratelimits.number, new Uint8Array()))],
    ["texts", (count) => times(count, text)],
    ["unknown fields", (count) => times(count, Buffer.of(0x78, 0))],
    ["fields of an unknown group", (count) => Buffer.concat([Buffer.of(0x7b), times(count, Buffer.of(0x78, 0)), Buffer.of(0x7c)])],
    ["parts of a Struct", (count) => times(count, within(meta.number, new Uint8Array()))],
    ["members of a Struct", (count) => Buffer.from(within(meta.number, times(count, one)))],
    ["empty members of a Struct", (count) => Buffer.from(within(meta.number, times(count, Buffer.of(0x0a, 0))))],
    ["fields of a member", (count) => Buffer.from(within(meta.number, within(1, times(count, Buffer.of(0x78, 0)))))],
    ["fields of a value", (count) => Buffer.from(within(meta.number, within(1, within(2, times(count, Buffer.of(0x20, 1))))))],
  ];

  test.each(kinds)("%s", (_, body) => {
    expect(ours(CreateIdentityRequestSchema, body(99_900))).toBeDefined();
    expect(() => ours(CreateIdentityRequestSchema, body(100_001))).toThrow("too many values");
  });

  test("a value within metadata counts as one, as in JSON", () => {
    const count = (value: object): number =>
      countValues(
        CreateIdentityRequestSchema,
        toBinary(CreateIdentityRequestSchema, create(CreateIdentityRequestSchema, { meta: value as never })),
      );
    expect(count({})).toBe(2);
    expect(count({ a: [1, "x", null, true, [], {}], b: { c: 1 } })).toBe(2 + 9);
    const meta = fc.dictionary(fc.string({ unit: codePoint }), fc.jsonValue({ stringUnit: codePoint }));
    fc.assert(
      fc.property(meta, (value) => {
        expect(count(value)).toBe(boundJson(Buffer.from(JSON.stringify({ value })), 100_000).values);
      }),
    );
  });
});

test.each([
  ["a group without end", Buffer.of(0x7b, 0x7b)],
  ["a group that ends and did not begin", Buffer.of(0x7c)],
  ["groups nested too deep", Buffer.alloc(1_000, 0x7b)],
  ["a message that goes beyond the one around it", Buffer.of(0x12, 3, 0x0a, 5, 0x0a, 0, 0, 0)],
])("[grpc §2] %s is no message", (_, bytes) => {
  expect(() => ours(CreateIdentityRequestSchema, bytes)).toThrow();
  expect(() => ours(VerifyKeyRequestSchema, bytes)).toThrow();
});

test("[protocol §3] a Struct of any depth is read no deeper than it may be", () => {
  let bytes: Uint8Array = new Uint8Array();
  for (let i = 0; i < 3_000; i++)
    bytes = new BinaryWriter()
      .tag(1, 2)
      .bytes(new BinaryWriter().tag(2, 2).bytes(new BinaryWriter().tag(5, 2).bytes(bytes).finish()).finish())
      .finish();
  const message = ours(
    CreateIdentityRequestSchema,
    new BinaryWriter().tag(CreateIdentityRequestSchema.field.meta.number, 2).bytes(bytes).finish(),
  );
  let levels = 0;
  for (let at = (message as { meta: unknown }).meta as Record<string, unknown> | undefined; at !== undefined; at = at[""] as typeof at)
    levels++;
  expect(levels).toBe(1_001);
});
