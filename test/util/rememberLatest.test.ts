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

test("what was made of a text is made once", () => {
  const { made, read } = counting({ most: 2, longest: 5 });
  expect(read("a")).toEqual({ text: "a" });
  expect(read("a")).toBe(read("a"));
  expect(made).toEqual(["a"]);
});

test("of many texts the latest are remembered, and one that is asked for stays", () => {
  const { made, read } = counting({ most: 2, longest: 5 });
  for (const text of ["a", "b", "c", "a", "d", "a", "e", "a"]) read(text);
  expect(made).toEqual(["a", "b", "c", "d", "e"]);
  read("b");
  expect(made.at(-1)).toBe("b");
});

test("a long text is not remembered, nor one of which nothing can be made", () => {
  const { made, read } = counting({ most: 2, longest: 5 });
  read("too long");
  read("too long");
  expect(made).toEqual(["too long", "too long"]);
  expect(() => read("bad")).toThrow("no query");
  expect(() => read("bad")).toThrow("no query");
});
