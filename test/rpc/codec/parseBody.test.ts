import fc from "fast-check";
import { expect, test } from "vitest";
import { parseBody } from "../../../src/platform/codec/json/parseBody.ts";

const parse = (text: string) => parseBody(new TextEncoder().encode(text));

test.each([
  ['{"a":1}', { a: 1 }],
  [' \n\t{ "a" : [ "é😀" ] }\r\n ', { a: ["é😀"] }],
  ["{}", {}],
  ["null", null],
  ['"x"', "x"],
  ['{"a":"\\ud800"}', { a: "\ud800" }],
])("[protocol §3] %j is one JSON value", (text, json) => {
  expect(parse(text)).toEqual({ json });
});

test("[protocol §3] the last of several properties of one name counts", () => {
  expect(parse('{"a":1,"a":2}')).toEqual({ json: { a: 2 } });
});

test("[protocol §3] __proto__ is an own property", () => {
  const parsed = parse('{"__proto__":{"a":1}}');
  expect("json" in parsed && Object.keys(parsed.json as object)).toEqual(["__proto__"]);
});

test.each([
  ["", "the body is empty"],
  ["   ", "the JSON ends too early"],
  ['{"a":', "the JSON ends too early"],
  ['{"a":"b', "the JSON ends too early"],
  ['{"a":1} x', "not valid JSON at position 8"],
  ['{"a":1}{"b":2}', "not valid JSON at position 7"],
  ["{'a':1}", "not valid JSON at position 1"],
  ['{"a":1,}', "not valid JSON at position 7"],
  ['{"a":NaN}', expect.stringMatching(/^not valid JSON/)],
  ['{"a":1} // c', "not valid JSON at position 8"],
  ["\ufeff{}", expect.stringMatching(/^not valid JSON/)],
  ['{"a":01}', "not valid JSON at position 6"],
  ['{"a":"\n"}', "not valid JSON at position 6"],
])("[protocol §3] %j is undecodable, at body, with a fix", (text, message) => {
  expect(parse(text)).toEqual({ violation: { location: "body", message, fix: expect.any(String) } });
});

test.each([[[0x22, 0xff, 0x22]], [[0x22, 0xc0, 0x80, 0x22]], [[0x22, 0xed, 0xa0, 0x80, 0x22]], [[0x1f, 0x8b, 0x08]]])(
  "[protocol §3] bytes that are not UTF-8 are refused: %j",
  (bytes) => {
    expect(parseBody(Uint8Array.from(bytes))).toMatchObject({ violation: { location: "body", message: "not valid UTF-8" } });
  },
);

test("[protocol §5] the contents of the body are not repeated: they may be a secret", () => {
  const parsed = parse('{"key":"sk_live_secret" "x"}');
  expect(JSON.stringify(parsed)).not.toContain("secret");
});

test("[protocol §3] a million levels do not overflow", () => {
  expect("json" in parse("[".repeat(1_000_000) + "]".repeat(1_000_000))).toBe(true);
});

test("[protocol §3] any bytes give a value or a violation, the value that JSON.parse gives", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.json().map((text) => new TextEncoder().encode(text)),
      ),
      (bytes) => {
        const parsed = parseBody(bytes);
        if ("json" in parsed)
          expect(parsed.json).toEqual(JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)));
        else expect(parsed.violation.location).toBe("body");
      },
    ),
  );
});
