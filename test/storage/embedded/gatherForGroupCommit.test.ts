import { expect, test } from "vitest";
import { gatherForGroupCommit } from "../../../src/platform/storage/embedded/sqlite/gatherForGroupCommit.ts";

/** How many had come when the commit began, if one comes with each turn from `from` on until there are `most`. */
const gathered = (from: number, most: number, expected?: number): Promise<number> => {
  let count = 1;
  let turn = 0;
  const arrive = (): void => {
    if (turn++ >= from) count++;
    if (count < most) setImmediate(arrive);
  };
  return new Promise((resolve) => {
    gatherForGroupCommit(
      () => count,
      () => resolve(count),
      expected,
    );
    setImmediate(arrive);
  });
};

test("one that comes alone goes at once", async () => {
  expect(await gathered(3, 5)).toBe(1);
});

test("as many are waited for as came together the last time", async () => {
  expect(await gathered(3, 5, 5)).toBe(5);
});

test("those that do not come are not waited for long", async () => {
  expect(await gathered(0, 3, 1_000)).toBe(3);
});
