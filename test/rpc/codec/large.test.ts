import { create, type DescMessage, fromBinary, type Message, toBinary, toJsonString } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GetUsageRequestSchema } from "../../../gen/latchkey/v2/analytics_pb.ts";
import { CreateIdentityRequestSchema } from "../../../gen/latchkey/v2/identities_pb.ts";
import { messageReader, messageWriter } from "../../../src/platform/codec/binary/binaryForm.ts";
import type { Decoded } from "../../../src/platform/codec/decoded.ts";
import { jsonReader, jsonWriter, type Read } from "../../../src/platform/codec/json/jsonForm.ts";
import { smallBodyBytes } from "../../../src/platform/http/limits.ts";
import { codePoint } from "../../support/codePoint.ts";
import { sized } from "../../support/sized.ts";
import { patientReader } from "../support/reader.ts";
import { anyMessage, fieldwiseValidMessage } from "./messageArbitrary.ts";
import { requests, responses } from "./services.ts";

/** Replaces the number of null, which the binary form leaves open. */
const withNull = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withNull);
  const entries = Object.entries(value).map(([name, inner]) => [name, withNull(inner)] as const);
  return { ...Object.fromEntries(entries), ...("case" in value && value.case === "null" && { value: 0 }) };
};

interface Outcome {
  readonly message: unknown;
  readonly violations: readonly object[];
}

const outcome = ({ message, violations }: Decoded<DescMessage>): Outcome => ({
  message: violations.length > 0 ? undefined : withNull(message),
  violations: violations.map((violation) => ({ ...violation })),
});

const both = async (read: Read, small: Buffer, large: Buffer): Promise<readonly [Outcome, Outcome]> => {
  expect(large.length).toBeGreaterThan(smallBodyBytes);
  const direct = read(small, patientReader);
  expect(direct).not.toBeInstanceOf(Promise);
  const later = read(large, patientReader);
  expect(later).toBeInstanceOf(Promise);
  return [outcome(await direct), outcome(await later)];
};

const blanks = " \n\t\r".repeat(smallBodyBytes / 4);
/** The same JSON, large. */
const padJson = (text: string): Buffer => Buffer.from(`${blanks}${text} `);
/** Makes the message large by an unknown field. */
const padBinary = (bytes: Uint8Array): Buffer => Buffer.from(new BinaryWriter().raw(bytes).tag(9_999, 2).string(blanks).finish());

const isSmall = (text: string | Uint8Array): boolean => text.length <= smallBodyBytes;
const named = requests.map((desc) => [desc.name, desc] as const);
const places = ({ violations }: Outcome): string[] => violations.map((each) => ("location" in each ? String(each.location) : ""));

describe("a large body is read as a small one would be", () => {
  const json = fc.oneof(fc.jsonValue({ maxDepth: 6 }), fc.jsonValue({ stringUnit: codePoint }));

  test.each(named)("%s on /v2 with one value exchanged", async (_, desc) => {
    const read = jsonReader(desc, "v2");
    const write = jsonWriter(desc, "v2");
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
      { numRuns: sized(3, 30) },
    );
  });

  test.each(named)("%s in Protobuf's JSON and in its binary form, valid or not", async (_, desc) => {
    const readJson = jsonReader(desc, "protobuf");
    const readBinary = messageReader(desc);
    await fc.assert(
      fc.asyncProperty(anyMessage(desc), async (message) => {
        const bytes = toBinary(desc, create(desc, message));
        const text = toJsonString(desc, create(desc, message));
        fc.pre(isSmall(bytes) && isSmall(text));
        const [small, large] = await both(readBinary, Buffer.from(bytes), padBinary(bytes));
        expect(large).toEqual(small);
        const [smallJson, largeJson] = await both(readJson, Buffer.from(text), padJson(text));
        expect(largeJson).toEqual(smallJson);
        // The three forms agree: JSON leaves out what is zero, so that it is missing instead of too short.
        expect([...new Set(places(smallJson))].sort()).toEqual([...new Set(places(small))].sort());
        if (small.violations.length === 0) expect(smallJson.message).toEqual(small.message);
      }),
      { numRuns: sized(10, 60) },
    );
  });

  test("a list that is too long and has only invalid entries", async () => {
    const text = JSON.stringify({ kind: "ratelimits", start: 1, end: 2, granularity: "day", groupBy: Array<string>(101).fill("keyId") });
    const [small, large] = await both(jsonReader(GetUsageRequestSchema, "v2"), Buffer.from(text), padJson(text));
    expect(small.violations).toHaveLength(101);
    expect(large).toEqual(small);
  });
});

describe("a body of more than 100,000 values is refused with one violation", () => {
  const tooMany = [{ location: "body", message: "holds more than 100000 values", fix: "send fewer items at once" }];
  /** The body, its object, `meta` and the list are four values, and `externalId` the fifth. */
  const identity = (ones: number) => ({ externalId: "x", meta: { a: Array<number>(ones).fill(1) } });

  test.each([
    ["on /v2", jsonReader(CreateIdentityRequestSchema, "v2"), (ones: number) => Buffer.from(JSON.stringify(identity(ones)))],
    [
      "in Protobuf's JSON",
      jsonReader(CreateIdentityRequestSchema, "protobuf"),
      (ones: number) => Buffer.from(JSON.stringify(identity(ones))),
    ],
    [
      "in the binary form",
      messageReader(CreateIdentityRequestSchema),
      (ones: number) => Buffer.from(toBinary(CreateIdentityRequestSchema, create(CreateIdentityRequestSchema, identity(ones)))),
    ],
  ])("%s", async (_, read, body) => {
    const most = 100_000 - 4;
    expect((await read(body(most), patientReader)).violations).toEqual([]);
    expect((await read(body(most + 1), patientReader)).violations).toEqual(tooMany);
  });

  test("unknown values count, too", async () => {
    const text = `{"externalId":"x","other":[${"0,".repeat(100_000)}0]}`;
    expect((await jsonReader(CreateIdentityRequestSchema, "v2")(Buffer.from(text), patientReader)).violations).toEqual(tooMany);
  });
});

describe("[protocol §3] values nested too deep are refused", () => {
  const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  const read = jsonReader(CreateIdentityRequestSchema, "v2");
  test.each([
    ["in metadata, at its place", `{"externalId":"x","meta":{"a":${nested(200_000)}}}`, "body.meta"],
    ["where nobody asked for it, at the body", `{"externalId":"x","other":${nested(200_000)}}`, "body"],
    ["in place of something else, as that", `{"externalId":${nested(200_000)}}`, "body.externalId"],
  ])("%s", async (_, text, location) => {
    const { violations } = await read(Buffer.from(text), patientReader);
    expect(violations.map((violation) => violation.location)).toEqual([location]);
  });
});

test.each(["JSON", "binary"])("a caller with many bodies in line delays another's by no more than one: %s", async (form) => {
  const body = Buffer.from(form === "JSON" ? `{"a":[${"0,".repeat(48_000)}0]}` : Buffer.alloc(96_000, Buffer.of(0x78, 0x00)));
  const read = form === "JSON" ? jsonReader(CreateIdentityRequestSchema, "v2") : messageReader(CreateIdentityRequestSchema);
  const done: string[] = [];
  const readFor = async (name: string): Promise<void> => {
    await read(body, { ...patientReader, path: [name, "address"] });
    done.push(name);
  };
  const hogs = Array.from({ length: 60 }, () => readFor("hog"));
  await readFor("other");
  expect(done.length).toBeLessThanOrEqual(3);
  await Promise.all(hogs);
});

describe("a large answer is written as a small one would be", () => {
  test.each(responses.map((desc) => [desc.name, desc] as const))("%s, in every form", async (_, desc) => {
    const forms = [jsonWriter(desc, "v2"), jsonWriter(desc, "protobuf")];
    const binary = messageWriter(desc);
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
