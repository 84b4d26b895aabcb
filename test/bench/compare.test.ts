import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkOut } from "../../bench/comparison/checkOut.ts";
import { compareRounds, type Round } from "../../bench/comparison/compareRounds.ts";

const round = (perSecond: number, cpu: number, errors = 0): Round => ({ perSecond, cpu, errors });

test("a ratio is the median of the rounds' ratios, above 1 where the later revision is better", () => {
  // The machine was slow in the second round, for both.
  const before = [round(100, 10), round(10, 12), round(100, 10, 1)];
  const after = [round(200, 5), round(21, 6), round(150, 8, 2)];
  expect(compareRounds(before, after)).toEqual({
    perSecond: { before: 100, after: 150 },
    cpu: { before: 10, after: 6 },
    ratio: { perSecond: 2, cpu: 2 },
    errors: 3,
  });
});

test("a revision is checked out with its dependencies, and nothing of it is left once it is removed", () => {
  const said: string[] = [];
  const { root, commit, remove } = checkOut("HEAD", (line) => said.push(line));
  try {
    expect(existsSync(join(root, "src/main.ts"))).toBe(true);
    expect(existsSync(join(root, "node_modules/@bufbuild/protobuf/package.json"))).toBe(true);
    expect(said[0]).toContain(commit);
  } finally {
    remove();
  }
  expect(existsSync(join(root, ".."))).toBe(false);
});

test("a revision that does not exist is refused", () => {
  expect(() => checkOut("no-such-revision", () => undefined)).toThrow("no-such-revision");
});
