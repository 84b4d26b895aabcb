import { create, type DescMessage, fromBinary, type Message, toBinary, toJsonString } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { GetUsageRequestSchema } from "../../../gen/latchkey/v2/analytics_pb.ts";
import { CreateIdentityRequestSchema } from "../../../gen/latchkey/v2/identities_pb.ts";
import { messageReader, messageWriter } from "../../../src/rpc/codec/binary/binaryForm.ts";
import type { Decoded } from "../../../src/rpc/codec/decoded.ts";
import { jsonReader, jsonWriter, type Read } from "../../../src/rpc/codec/json/jsonForm.ts";
import { wholeBody } from "../../../src/rpc/http/limits.ts";
import { createSlices } from "../../../src/rpc/pipeline/slices.ts";
import { heldText } from "../../../src/util/jsonText.ts";
import { codePoint } from "../../support/codePoint.ts";
import { sized } from "../../support/sized.ts";
import { patientReader } from "../support/reader.ts";
import { anyMessage, fieldwiseValidMessage } from "./messageArbitrary.ts";
import { requests, responses } from "./services.ts";

const slices = createSlices();

/** Texts of objects exchanged for the objects that they are. */
const expand = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(expand);
  const text = heldText(value);
  if (text !== undefined) return JSON.parse(text);
  const entries = Object.entries(value).map(([name, inner]) => [name, expand(inner)] as const);
  // Whatever number null is given as in the binary form.
  return { ...Object.fromEntries(entries), ...("case" in value && value.case === "null" && { value: 0 }) };
};

interface Outcome {
  readonly message: unknown;
  readonly violations: readonly object[];
}

const outcome = ({ message, violations }: Decoded<DescMessage>): Outcome => ({
  message: violations.length > 0 ? undefined : expand(message),
  violations: violations.map((violation) => ({ ...violation })),
});

const both = async (read: Read, small: Buffer, large: Buffer): Promise<readonly [Outcome, Outcome]> => {
  expect(large.length).toBeGreaterThan(wholeBody);
  const direct = read(small, patientReader);
  expect(direct).not.toBeInstanceOf(Promise);
  const sliced = read(large, patientReader);
  expect(sliced).toBeInstanceOf(Promise);
  return [outcome(await direct), outcome(await sliced)];
};

const blanks = " \n\t\r".repeat(wholeBody / 4);
/** The same JSON, large. */
const padJson = (text: string): Buffer => Buffer.from(`${blanks}${text}`);
/** The same message, large: with a field that nobody knows. */
const padBinary = (bytes: Uint8Array): Buffer => Buffer.from(new BinaryWriter().raw(bytes).tag(9_999, 2).string(blanks).finish());

const isSmall = (text: string | Uint8Array, limit = wholeBody): boolean => text.length <= limit;
const named = requests.map((desc) => [desc.name, desc] as const);

describe("[attack B3] a large body is read as a small one would be", () => {
  const json = fc.oneof(fc.jsonValue({ maxDepth: 6 }), fc.jsonValue({ stringUnit: codePoint }));
  const readers = requests.flatMap((desc) => (["v2", "protobuf"] as const).map((dialect) => jsonReader(desc, dialect, slices)));

  test("whatever JSON it is, in both dialects", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...readers), json, async (read, value) => {
        const text = JSON.stringify(value);
        fc.pre(isSmall(text));
        const [small, large] = await both(read, Buffer.from(text), padJson(text));
        expect(large).toEqual(small);
      }),
      { numRuns: sized(200, 1_000) },
    );
  });

  test("whatever bytes it is", async () => {
    const piece = fc.constantFrom(
      ...'{}[]",:\\u0tfn-+.eE1 \n\u0001é',
      "true",
      "null",
      '"key"',
      '"meta"',
      '{"',
      '":',
      "\\ud800",
      "1e5",
      "\ufeff",
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...readers), fc.array(piece), async (read, pieces) => {
        const text = pieces.join("");
        fc.pre(text.trim() !== "");
        const [small, large] = await both(read, Buffer.from(text), Buffer.from(`${text}${blanks}`));
        // Where it fails is told by the engine in its own way.
        const told = ({ violations, message }: Outcome) => [message, violations.map((each) => ("location" in each ? each.location : ""))];
        expect(told(large)).toEqual(told(small));
      }),
      { numRuns: sized(200, 1_000) },
    );
  });

  test.each(named)("%s on /v2 with one value exchanged", async (_, desc) => {
    const read = jsonReader(desc, "v2", slices);
    const write = jsonWriter(desc, "v2", slices);
    await fc.assert(
      fc.asyncProperty(fieldwiseValidMessage(desc), json, fc.nat(), async (message, value, at) => {
        const body = JSON.parse(String(write(message, patientReader))) as Record<string, unknown>;
        const names = Object.keys(body);
        body[names[at % (2 * names.length + 1)] ?? "added"] = value;
        const text = JSON.stringify(body);
        fc.pre(isSmall(text));
        const [small, large] = await both(read, Buffer.from(text), padJson(text));
        expect(large).toEqual(small);
      }),
      { numRuns: sized(10, 60) },
    );
  });

  test.each(named)("%s in Protobuf's JSON and in its binary form, valid or not", async (_, desc) => {
    const readJson = jsonReader(desc, "protobuf", slices);
    const readBinary = messageReader(desc, slices);
    await fc.assert(
      fc.asyncProperty(anyMessage(desc), async (message) => {
        const bytes = toBinary(desc, create(desc, message));
        fc.pre(isSmall(bytes, 1024));
        const [small, large] = await both(readBinary, Buffer.from(bytes), padBinary(bytes));
        expect(large).toEqual(small);
        const text = toJsonString(desc, create(desc, message));
        const [smallJson, largeJson] = await both(readJson, Buffer.from(text), padJson(text));
        expect(largeJson).toEqual(smallJson);
        // The three forms agree: JSON leaves out what is zero, so that it is missing instead of too short.
        const places = ({ violations }: Outcome) => violations.map((each) => ("location" in each ? each.location : ""));
        expect([...new Set(places(smallJson))].sort()).toEqual([...new Set(places(small))].sort());
        if (small.violations.length === 0) expect(smallJson.message).toEqual(small.message);
      }),
      { numRuns: sized(10, 60) },
    );
  });

  test("a list that is too long, and of which every entry is wrong in itself", async () => {
    const text = JSON.stringify({ kind: "ratelimits", start: 1, end: 2, granularity: "day", groupBy: Array<string>(101).fill("keyId") });
    const [small, large] = await both(jsonReader(GetUsageRequestSchema, "v2", slices), Buffer.from(text), padJson(text));
    expect(small.violations).toHaveLength(101);
    expect(large).toEqual(small);
  });

  test("whatever Protobuf it is", async () => {
    const unknown = fc.tuple(fc.constantFrom(90, 91), fc.constantFrom(0, 1, 2, 3, 4, 5), fc.uint8Array({ maxLength: 12 }));
    const bytes = fc.uint8Array({ maxLength: 12 });
    /** Where the library does not look at the form of a field that it knows, whatever else that makes of its bytes. */
    const isForeign = (known: ReadonlyMap<number, number>, bytes: Uint8Array): boolean => {
      const reader = new BinaryReader(bytes);
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
    const message = fc.constantFrom(...requests).chain((desc) => {
      const known = desc.fields.map((field) => [field.number, field.scalar === 9 || field.message !== undefined ? 2 : 0] as const);
      const given = fc
        .constantFrom(...known, [90, 2] as const)
        .chain(([number, type]) => bytes.map((value) => [number, type, value] as const));
      return fc.tuple(fc.constant(messageReader(desc, slices)), fc.array(fc.oneof(given, unknown)), fc.constant(new Map(known)));
    });
    const bytesOf = (fields: readonly (readonly [number, number, Uint8Array])[]): Uint8Array =>
      fields
        .reduce((writer, [number, type, bytes]) => {
          writer.tag(number, type);
          return type === 2 ? writer.bytes(bytes) : writer.raw(bytes);
        }, new BinaryWriter())
        .finish();
    await fc.assert(
      fc.asyncProperty(message, async ([read, fields, known]) => {
        const bytes = bytesOf(fields);
        fc.pre(isSmall(bytes, 1024) && !isForeign(known, bytes));
        const [small, large] = await both(read, Buffer.from(bytes), Buffer.concat([padBinary(new Uint8Array()), bytes]));
        // The library lets a message in a message go on beyond its end.
        const isBroken = [...small.violations, ...large.violations].some((each) => "location" in each && each.location === "body");
        if (!isBroken) expect(large).toEqual(small);
      }),
      { numRuns: sized(200, 1_000) },
    );
  });
});

test.each(["JSON", "binary"])("[attack B3] whoever has many bodies in line delays another's by no more than one: %s", async (form) => {
  const body = Buffer.from(form === "JSON" ? `{"a":[${"0,".repeat(24_000)}0]}` : Buffer.alloc(48_000, Buffer.of(0x78, 0x00)));
  const read = form === "JSON" ? jsonReader(CreateIdentityRequestSchema, "v2", slices) : messageReader(CreateIdentityRequestSchema, slices);
  const done: string[] = [];
  const readFor = async (name: string): Promise<void> => {
    await read(body, { ...patientReader, path: [name, "address"] });
    done.push(name);
  };
  const hogs = Array.from({ length: 60 }, () => readFor("hog"));
  await readFor("other");
  expect(done.length).toBeLessThanOrEqual(2);
  await Promise.all(hogs);
});

describe("[attack B3] a field that comes in many parts", () => {
  const read = messageReader(CreateIdentityRequestSchema, slices);
  const [externalId, meta] = [CreateIdentityRequestSchema.field.externalId, CreateIdentityRequestSchema.field.meta];
  /** A body of the text `x` and of `meta` in `parts`, the last of which is alone. */
  const bodyOf = (part: Uint8Array, parts: number): Buffer => {
    const text = new BinaryWriter().tag(externalId.number, 2).string("x").finish();
    const one = new BinaryWriter().tag(meta.number, 2).bytes(part).finish();
    return Buffer.concat([text, ...Array<Uint8Array>(parts).fill(one)]);
  };
  const member = (name: string): Uint8Array => toBinary(StructSchema, create(StructSchema, { fields: { [name]: { kind: stringValue } } }));
  const stringValue = { case: "stringValue", value: "v".repeat(1_000) } as const;

  test("may come in empty ones, of which none is kept", async () => {
    const held: unknown[] = [];
    const concat = vi.spyOn(Buffer, "concat");
    const body = Buffer.concat([bodyOf(new Uint8Array(), 100_000), bodyOf(member("a"), 2)]);
    concat.mockClear();
    const { message, violations } = await read(body, patientReader);
    held.push(...concat.mock.calls.map(([chunks]) => chunks.length));
    concat.mockRestore();
    expect(violations).toEqual([]);
    expect(expand(message)).toMatchObject({ externalId: "x", meta: { a: stringValue.value } });
    expect(held).toContain(2);
    expect(Math.max(...(held as number[]))).toBeLessThanOrEqual(64);
  });

  test("is there when all of them are empty", async () => {
    const { message } = await read(bodyOf(new Uint8Array(), 2_000), patientReader);
    expect(expand(message)).toMatchObject({ meta: {} });
  });

  test.each([
    [64, []],
    [65, [{ location: "body.meta", message: "comes in more than 64 parts", fix: "send it in one" }]],
  ])("may come in so many others: %i", async (parts, expected) => {
    expect((await read(bodyOf(member("a"), parts), patientReader)).violations).toEqual(expected);
  });
});

describe("[attack B3] a large answer is written as a small one would be", () => {
  test.each(responses.map((desc) => [desc.name, desc] as const))("%s, in every form", async (_, desc) => {
    const forms = [jsonWriter(desc, "v2", slices), jsonWriter(desc, "protobuf", slices)];
    const binary = messageWriter(desc, slices);
    await fc.assert(
      fc.asyncProperty(fieldwiseValidMessage(desc), async (message) => {
        const list = desc.fields.find(({ fieldKind }) => fieldKind === "list")?.localName;
        const fields = message as unknown as Record<string, readonly unknown[]>;
        fc.pre(list === undefined || (fields[list] ?? []).length > 0);
        const long = list === undefined ? message : { ...message, [list]: Array(2_000).fill(fields[list]?.[0]) };
        for (const [i, write] of forms.entries()) {
          const written = await write(long, patientReader);
          const text = typeof written === "string" ? written : Buffer.concat(written).toString();
          if (i === 1) expect(JSON.parse(text)).toEqual(JSON.parse(toJsonString(desc, create(desc, long as Message))));
          else if (list !== undefined) expect((JSON.parse(text) as typeof fields)[list]).toHaveLength(2_000);
        }
        expect(fromBinary(desc, await binary(long, patientReader))).toEqual(
          fromBinary(desc, toBinary(desc, create(desc, long as Message))),
        );
      }),
      { numRuns: sized(2, 10) },
    );
  });
});
