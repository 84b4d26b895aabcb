import { create, type DescMessage, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ListKeysRequestSchema } from "../../../gen/latchkey/v2/apis_pb.ts";
import { CreateIdentityRequestSchema } from "../../../gen/latchkey/v2/identities_pb.ts";
import { messageReader } from "../../../src/rpc/codec/binary/binaryForm.ts";
import { jsonReader, type Read } from "../../../src/rpc/codec/json/jsonForm.ts";
import { createSlices } from "../../../src/rpc/pipeline/slices.ts";
import { textOf } from "../../../src/util/jsonText.ts";
import { patientReader } from "../support/reader.ts";

/** More than one turn of the event loop may handle. */
const mostBytes = 128 * 1024;
const size = 2_000_000;

const sizes: number[] = [];
const slices = createSlices({ onSlice: (bytes) => void sizes.push(bytes) });
const json = (desc: DescMessage): Read => jsonReader(desc, "v2", slices);

/** Reads a body; checks that no slice was too large, nor what came after the last one. */
const readSliced = async (read: Read, body: Buffer) => {
  sizes.length = 0;
  const decoded = await read(body, patientReader);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(mostBytes);
  expect(body.length - sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(mostBytes);
  return decoded;
};

/** Texts within quotes, and what they are. */
const texts = {
  plain: "a".repeat(size),
  "of two bytes a character, and one": `a${"é".repeat(size / 2)}`,
  "of three bytes a character": "漢".repeat(size / 3),
  "of escapes": "\\u00e9\\n".repeat(size / 8),
  "of pairs of surrogates, and a character": `a${"\\ud83d\\uDE00".repeat(size / 12)}`,
} as const;

describe("[attack B3] one token is read in slices, as any other body", () => {
  test.each(Object.entries(texts))("a text: %s", async (_, text) => {
    const { message, violations } = await readSliced(json(ListKeysRequestSchema), Buffer.from(`{"apiId":"a","externalId":"${text}"}`));
    expect(violations).toEqual([]);
    expect((message as unknown as { externalId: string }).externalId === JSON.parse(`"${text}"`)).toBe(true);
  });

  test.each(Object.entries(texts))("a text that is longer than its field may be: %s", async (_, text) => {
    const { violations } = await readSliced(json(CreateIdentityRequestSchema), Buffer.from(`{"externalId":"${text}"}`));
    expect(violations).toEqual([{ location: "body.externalId", message: "too long: got more than 255, want at most 255" }]);
  });

  test.each(Object.entries(texts))("a text in metadata: %s", async (_, text) => {
    const part = text.slice(0, 300_000 - (300_000 % 12) + (text.startsWith("a") && text[1] !== "a" ? 1 : 0));
    const body = Buffer.from(`{"externalId":"x","meta":{"a":["${part}"]}}`);
    const { message, violations } = await readSliced(json(CreateIdentityRequestSchema), body);
    expect(violations).toEqual([]);
    expect(textOf((message as unknown as { meta: object }).meta)).toBe(JSON.stringify({ a: [JSON.parse(`"${part}"`)] }));
  });

  test.each(Object.entries(texts))("a name: %s", async (_, text) => {
    const { violations } = await readSliced(json(ListKeysRequestSchema), Buffer.from(`{"apiId":"a","${text}":1}`));
    expect(violations[0]?.message).toMatch(/^additional property '/);
  });

  test.each(Object.entries(texts))("a name within metadata: %s", async (_, text) => {
    const { violations } = await readSliced(json(CreateIdentityRequestSchema), Buffer.from(`{"externalId":"x","meta":{"${text}":1}}`));
    const isTooLarge = Buffer.byteLength(JSON.stringify({ [JSON.parse(`"${text}"`) as string]: 1 })) > 1_048_576;
    expect(violations.map(({ location }) => location)).toEqual(isTooLarge ? ["body.meta"] : []);
  });

  test("a text where another type is wanted", async () => {
    const { violations } = await readSliced(json(ListKeysRequestSchema), Buffer.from(`{"apiId":"a","limit":"${texts.plain}"}`));
    expect(violations[0]?.message).toBe("got string, want integer");
  });

  test.each(["before", "after", "in a list", "in a member"])("white space %s", async (where) => {
    const space = " \n\t\r".repeat(size / 4);
    const [before, after, inList, inMember] = ["before", "after", "in a list", "in a member"].map((each) => (each === where ? space : ""));
    const body = `${before}{"externalId"${inMember}:${inMember}"x"${inMember},"ratelimits":[${inList}],"meta":{"a"${inMember}:[${inList}]}}${after}`;
    expect((await readSliced(json(CreateIdentityRequestSchema), Buffer.from(body))).violations).toEqual([]);
  });

  test("a text of the binary form", async () => {
    for (const text of [texts.plain, texts["of two bytes a character, and one"], texts["of three bytes a character"]]) {
      const bytes = Buffer.from(toBinary(ListKeysRequestSchema, create(ListKeysRequestSchema, { apiId: "a", externalId: text })));
      const { message, violations } = await readSliced(messageReader(ListKeysRequestSchema, slices), bytes);
      expect(violations).toEqual([]);
      expect((message as unknown as { externalId: string }).externalId === text).toBe(true);
    }
  });
});

test("[attack B3] a number of more characters than any needs ends the reading there", async () => {
  sizes.length = 0;
  const { violations } = await json(ListKeysRequestSchema)(Buffer.from(`{"apiId":"a","limit":${"1".repeat(size)}}`), patientReader);
  expect(violations).toMatchObject([{ message: "holds a number of more than 1000 characters" }]);
  expect(sizes).toEqual([]);
});

test("[protocol §3] wherever a long text is parted, it is kept as JSON writes it", async () => {
  const piece = fc.constantFrom("a", "é", "漢", "😀", "\\n", "\\/", "\\u0041", "\\ud83d", "\\ude00", "\\ud83d\\ude00", "\\\\", '\\"');
  const pieces = fc.array(piece, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(pieces, fc.nat(12), async (repeated, shift) => {
      const unit = repeated.join("");
      const text = "x".repeat(shift) + unit.repeat(Math.ceil(150_000 / Buffer.byteLength(unit)));
      const body = Buffer.from(`{"externalId":"x","meta":{"a":"${text}"}}`);
      const { message } = await json(CreateIdentityRequestSchema)(body, patientReader);
      expect(textOf((message as unknown as { meta: object }).meta) === JSON.stringify({ a: JSON.parse(`"${text}"`) })).toBe(true);
    }),
    { numRuns: 50 },
  );
});
