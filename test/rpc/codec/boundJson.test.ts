import fc from "fast-check";
import { expect, test } from "vitest";
import { boundJson } from "../../../src/platform/codec/json/boundJson.ts";

const bound = (text: string, most = 100) => boundJson(Buffer.from(text), most);

/** Values of parsed JSON, names not counted. */
const countValues = (json: unknown): number => {
  if (typeof json !== "object" || json === null) return 1;
  let sum = 1;
  for (const value of Object.values(json)) sum += countValues(value);
  return sum;
};

const spaced = (text: string): string => text.replaceAll(/([[{}\],:])(?=(?:[^"\\]|\\.|"(?:[^"\\]|\\.)*")*$)/gs, " $1\n");

test("counts objects, arrays, texts, numbers and literals, names not", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.boolean(), (json, isSpaced) => {
      const text = JSON.stringify(json);
      expect(bound(isSpaced ? spaced(text) : text, 1_000_000)).toEqual({ values: countValues(JSON.parse(text)), isTooDeep: false });
    }),
    { numRuns: 500 },
  );
});

test.each([
  ["what looks like values within a text", '["[,]{}\\",\\\\",1]', 3],
  ["an empty object and an empty array", '[{},[ ],{"a":{ }}]', 5],
  ["a name again and again", '{"a":1,"a":2}', 3],
])("counts %s", (_, text, values) => {
  expect(bound(text).values).toBe(values);
});

test("counts no further than one beyond the bound", () => {
  expect(bound(`[${"1,".repeat(98)}1]`).values).toBe(100);
  expect(bound(`[${"1,".repeat(99)}1]`).values).toBe(101);
  expect(bound(`[${"1,".repeat(9_999)}1]`).values).toBe(101);
});

test.each([
  ["arrays", "[", "]", "0"],
  ["objects", '{"a":', "}", "0"],
])("[protocol §3] %s nested too deep is replaced by a number", (_, open, close, cut) => {
  const nested = (levels: number) => `[1,${open.repeat(levels)}${close.repeat(levels).replace("}", "2}")},"]"]`;
  const fits = Buffer.from(nested(1_099));
  expect(boundJson(fits, 10_000).isTooDeep).toBe(false);
  expect(fits.toString()).toBe(nested(1_099));
  const body = Buffer.from(nested(200_000));
  expect(boundJson(body, 10_000)).toMatchObject({ isTooDeep: true });
  expect(JSON.stringify(JSON.parse(body.toString()))).toBe(`[1,${open.repeat(1_099)}${cut}${close.repeat(1_099)},"]"]`);
});

test.each(["[", '{"a":['])("unclosed brackets beyond the allowed depth do not reach the parser: %s", (open) => {
  const body = Buffer.from(open.repeat(200_000));
  boundJson(body, 1_000_000);
  expect(body.toString().trimEnd().length).toBeLessThan(10_000);
  expect(() => JSON.parse(body.toString())).toThrow(/Unexpected end|Expected/);
});

test("any bytes are bounded", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(boundJson(Buffer.from(bytes), 5).values).toBeLessThanOrEqual(6);
    }),
  );
});
