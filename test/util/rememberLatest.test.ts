import { expect, test } from "vitest";
import { rememberLatest } from "../../src/platform/util/rememberLatest.ts";

const counting = (bounds: { most: number; longest: number }) => {
  const made: string[] = [];
  const read = rememberLatest((text) => {
    if (text === "bad") throw new Error("no query");
    made.push(text);
    return { text };
  }, bounds);
  return { made, read };
};

test("a text is parsed once", () => {
  const { made, read } = counting({ most: 2, longest: 5 });
  expect(read("a")).toEqual({ text: "a" });
  expect(read("a")).toBe(read("a"));
  expect(made).toEqual(["a"]);
});

test("the latest of many texts are remembered, and one that is asked for stays", () => {
  const { made, read } = counting({ most: 2, longest: 5 });
  for (const text of ["a", "b", "c", "a", "d", "a", "e", "a"]) read(text);
  expect(made).toEqual(["a", "b", "c", "d", "e"]);
  read("b");
  expect(made.at(-1)).toBe("b");
});

test("neither a long text nor one that cannot be parsed is remembered", () => {
  const { made, read } = counting({ most: 2, longest: 5 });
  read("too long");
  read("too long");
  expect(made).toEqual(["too long", "too long"]);
  expect(() => read("bad")).toThrow("no query");
  expect(() => read("bad")).toThrow("no query");
});
