import { expect, test } from "vitest";
import { createBatchLoader } from "../../src/platform/cache/batchLoader.ts";
import { DocumentTooNewError, StoreDamagedError } from "../../src/platform/storage/port/errors.ts";

/** Knows the ids that do not start with `no`, and remembers what it was asked for. */
const source = () => {
  const asked: (readonly string[])[] = [];
  const find = createBatchLoader(async (ids) => {
    asked.push(ids);
    return ids.filter((id) => !id.startsWith("no")).map((_id) => ({ _id }));
  });
  return { asked, find };
};

test("all ids of one turn are one read, each id once, and missing ones are null", async () => {
  const { asked, find } = source();
  expect(await Promise.all(["a", "b", "none", "a"].map(find))).toEqual([{ _id: "a" }, { _id: "b" }, null, { _id: "a" }]);
  expect(asked).toEqual([["a", "b", "none"]]);
  expect(await find("c")).toEqual({ _id: "c" });
  expect(asked).toHaveLength(2);
});

test("a read has at most 1000 ids, and there is none without any", async () => {
  const { asked, find } = source();
  const ids = Array.from({ length: 2000 }, (_, i) => `id ${i}`);
  expect(await Promise.all(ids.map(find))).toEqual(ids.map((_id) => ({ _id })));
  expect(asked.map(({ length }) => length)).toEqual([1000, 1000]);
});

test("a read that fails fails for everyone who asked, and the next one is tried again", async () => {
  let fails = true;
  const find = createBatchLoader(async (ids) => {
    if (fails) throw new Error("away");
    return ids.map((_id) => ({ _id }));
  });
  const results = await Promise.allSettled(["a", "b"].map(find));
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  fails = false;
  expect(await find("a")).toEqual({ _id: "a" });
});

test.each([
  ["an object that is damaged", new StoreDamagedError("a page is damaged")],
  ["an object that a newer version wrote", new DocumentTooNewError("roles", "bad", 4, 3)],
])("%s is an error of who asked for it, not of those who asked in the same turn", async (_, error) => {
  const find = createBatchLoader(async (ids) => {
    if (ids.includes("bad")) throw error;
    return ids.map((_id) => ({ _id }));
  });
  expect(await Promise.allSettled(["a", "bad", "b"].map(find))).toMatchObject([
    { status: "fulfilled", value: { _id: "a" } },
    { status: "rejected", reason: { name: error.name } },
    { status: "fulfilled", value: { _id: "b" } },
  ]);
});
