import { describe, expect, test } from "vitest";
import { createPrecondition, parseIfMatch, tagOf } from "../../src/platform/base/revisions.ts";

describe("tags", () => {
  test("[management §2] a tag is a strong one, in quotes, of characters that every header takes", () => {
    expect(tagOf({ _id: "key_1", revision: 7 })).toMatch(/^"[A-Za-z0-9_-]{22}"$/);
  });

  test("[management §2] a tag identifies one object and one revision; quiet changes do not count", () => {
    const tags = ["key_1", "key_11", "api_1"].flatMap((_id) => [0, 1, 2, 11].map((revision) => tagOf({ _id, revision })));
    expect(new Set(tags).size).toBe(tags.length);
    expect(tagOf({ _id: "key_1", revision: 9, quietRevisions: 2 })).toBe(tagOf({ _id: "key_1", revision: 7 }));
    expect(tagOf({ _id: "api_1" })).toBe(tagOf({ _id: "api_1", revision: 0 }));
  });
});

describe("If-Match", () => {
  test.each([
    ['"a"', ['"a"']],
    ['""', ['""']],
    ['"a","b"', ['"a"', '"b"']],
    ['  "a" ,\t"b"  ', ['"a"', '"b"']],
    [', ,"a",, "b",', ['"a"', '"b"']],
    ['"a,b"', ['"a,b"']],
    ['"W/", "*"', ['"W/"', '"*"']],
    ['"\\"', ['"\\"']],
    ['"é\u00ff\u2603"', ['"é\u00ff\u2603"']],
    ['"a", "a"', ['"a"']],
  ])("[RFC 9110 §13.1.1] %s names these tags", (text, tags) => {
    expect([...(parseIfMatch(text) as ReadonlySet<string>)]).toEqual(tags);
  });

  test.each(["*", " * ", "\t*"])("[RFC 9110 §13.1.1] %j is any revision", (text) => {
    expect(parseIfMatch(text)).toBe("any");
  });

  test.each(['W/"a"', 'W/"a", W/"b"'])("[RFC 9110 §8.8.3.2] %s is well-formed, but weak tags match nothing", (text) => {
    expect(parseIfMatch(text)).toEqual(new Set());
  });

  test.each([
    "",
    "   ",
    ",",
    " , ,",
    "a",
    '"a',
    'a"',
    '"a" "b"',
    '"a""b"',
    '"a";"b"',
    '"a b"',
    '"a\tb"',
    '"a\u007f"',
    "'a'",
    'w/"a"',
    'W /"a"',
    "W/a",
    "W/",
    "W/*",
    "**",
    '*, "a"',
    '"a", *',
    '"a", b',
    "null",
    '\u00a0"a"',
  ])("[RFC 9110 §13.1.1] %j is malformed", (text) => {
    expect(parseIfMatch(text)).toBeUndefined();
  });

  test("takes time in proportion to its length, for any content", () => {
    const many = 200_000;
    for (const part of [" ", ",", '"', '"a', '"a",', "W/", 'W/"', '"\u00ff"', '" ']) parseIfMatch(part.repeat(many));
    expect((parseIfMatch(Array.from({ length: many }, (_, i) => `"${i}"`).join()) as ReadonlySet<string>).size).toBe(many);
  });

  test("[management §2] holds for the object whose tag is among those named, and for none that is not there", () => {
    const object = { _id: "key_1", revision: 3 };
    const one = createPrecondition(new Set(['"other"', tagOf(object)]));
    expect(() => one.ensure(object)).not.toThrow();
    const any = createPrecondition("any");
    expect(() => any.ensure(object)).not.toThrow();
    for (const refused of [() => one.ensure({ ...object, revision: 4 }), () => one.ensure(null), () => any.ensure(null)]) {
      expect(refused).toThrow(expect.objectContaining({ reason: "revision_differs" }));
    }
  });
});
