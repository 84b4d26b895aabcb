import { expect, test } from "vitest";
import { createPace } from "../../src/platform/http/pace.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("of many simultaneous starts a bounded number begins in each turn, and callers take turns", async () => {
  const pace = createPace(3);
  const begun: string[] = [];
  const come = (caller: string, name: string): void => {
    if (pace.take()) begun.push(name);
    else pace.later([caller], () => begun.push(name));
  };
  for (let i = 0; i < 8; i++) come("hog", `hog ${i}`);
  come("other", "other");
  expect(begun).toEqual(["hog 0", "hog 1", "hog 2"]);
  await turn();
  expect(begun.slice(3)).toEqual(["hog 3", "other", "hog 4"]);
  // Later arrivals do not overtake those that wait.
  come("other", "late");
  await turn();
  await turn();
  expect(begun.slice(6)).toEqual(["hog 5", "late", "hog 6", "hog 7"]);
  await turn();
  come("other", "again");
  expect(begun.at(-1)).toBe("again");
});
