import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonDigest } from "../../../src/rpc/codec/json/jsonDigest.ts";
import { runAtOnce } from "../../../src/rpc/pipeline/slices.ts";

const digestOf = (value: unknown): string => runAtOnce(jsonDigest(Buffer.from(JSON.stringify(value))));

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

test("[attack B3] a digest is made in slices", () => {
  const work = jsonDigest(Buffer.from(JSON.stringify(Array(500_000).fill(1))));
  let slices = 0;
  for (let step = work.next(); !step.done; step = work.next(), slices++) expect(step.value).toBeLessThanOrEqual(65 * 1024);
  expect(slices).toBeGreaterThan(10);
});
