import { expect, test } from "vitest";
import type { CallService } from "../../../src/cli/remote/callService.ts";
import { allRows, MOST_PAGES, pagesOf } from "../../../src/cli/remote/pages.ts";

/** Answers pages of one number, `last` of them. */
const counting = (last: number): { readonly call: CallService; readonly bodies: unknown[] } => {
  const bodies: unknown[] = [];
  const call: CallService = async (_, body) => {
    bodies.push(body);
    return { data: [bodies.length], cursor: bodies.length === last ? undefined : `after ${bodies.length}`, degraded: [] };
  };
  return { call, bodies };
};

test("each page is asked for with the cursor of the one before, and the rest of the request", async () => {
  const { call, bodies } = counting(3);
  expect(await Array.fromAsync(pagesOf(call, "a.b", { limit: 1 }))).toEqual([
    { rows: [1], cursor: "after 1" },
    { rows: [2], cursor: "after 2" },
    { rows: [3], cursor: undefined },
  ]);
  expect(bodies).toEqual([{ limit: 1 }, { limit: 1, cursor: "after 1" }, { limit: 1, cursor: "after 2" }]);
  expect(await allRows(counting(3).call, "a.b")).toEqual([1, 2, 3]);
});

test("a list without an end is given up", async () => {
  const { call, bodies } = counting(Number.POSITIVE_INFINITY);
  await expect(allRows(call, "a.b")).rejects.toThrow(`a.b has more than ${MOST_PAGES} pages`);
  expect(bodies).toHaveLength(MOST_PAGES);
});

test("an answer that is not a list is refused", async () => {
  await expect(allRows(async () => ({ data: {}, cursor: undefined, degraded: [] }), "a.b")).rejects.toThrow("a.b answered without a list");
});
