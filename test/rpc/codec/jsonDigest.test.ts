import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonDigest } from "../../../src/platform/codec/json/jsonDigest.ts";

const digestOf = (value: unknown): string => {
  const work = jsonDigest(Buffer.from(JSON.stringify(value)));
  for (;;) {
    const { done, value: digest } = work.next();
    if (done) return digest;
  }
};

const reversed = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, inner]) => [name, reversed(inner)]),
  );
};

test("[protocol §2] the order of properties says nothing, at any depth", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(digestOf(reversed(value))).toBe(digestOf(value));
    }),
    { numRuns: 500 },
  );
});

test("[protocol §2] everything else does", () => {
  const different = [
    ...[1, "1", true, null, [], {}, [[]], [{}], [1, 2], [2, 1], [12], { a: 1 }, { a: "1" }, { b: 1 }, { a: [1] }, [{ a: 1 }]],
    ...[
      { a: { b: 1 } },
      { b: { a: 1 } },
      { a: 1, b: 2 },
      { a: 2, b: 1 },
      [["a"], "b"],
      ["a", ["b"]],
      { "a,b": 1 },
      { a: "}" },
      ["a", "b"],
      ['a","b'],
    ],
    ...[
      { a: {}, b: [] },
      { a: [], b: {} },
      { a: { x: 1 }, b: { x: 2 } },
      { a: { x: 2 }, b: { x: 1 } },
    ],
  ];
  expect(new Set(different.map(digestOf)).size).toBe(different.length);
});

test("[protocol §2] a digest is the same as in earlier versions, which kept fingerprints of it", () => {
  expect(digestOf({ a: [1, "é", { b: null }], c: {} })).toBe("a750c766-d266e2b-32");
});

test("a long digest is made in steps", () => {
  const work = jsonDigest(Buffer.from(JSON.stringify(Array(1_200_000).fill(1))));
  let steps = 1;
  while (!work.next().done) steps++;
  expect(steps).toBe(3);
});
