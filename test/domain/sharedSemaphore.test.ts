import { expect, test } from "vitest";
import { createFairShares } from "../../src/platform/fairness/fairShares.ts";
import { createSharedSemaphore, type Permit } from "../../src/platform/fairness/sharedSemaphore.ts";

test("a caller that leaves the line has no turn, and is forgotten with its last entry", () => {
  const turns = createSharedSemaphore(createFairShares({ capacity: 1, overdraft: 0 }));
  const admitted: string[] = [];
  const running = turns.take("a");
  const next: Permit[] = [];
  const leave = turns.wait("b", () => admitted.push("b"));
  turns.wait("c", (turn) => {
    admitted.push("c");
    next.push(turn);
  });
  leave();
  leave();
  running?.end();
  expect(admitted).toEqual(["c"]);
  expect(turns.take("b")).toBeUndefined();
  next[0]?.end();
  expect(turns.take("b")).toBeDefined();
});

test("a turn skips a caller that already has more than its share", () => {
  const shares = createFairShares({ capacity: 4, overdraft: 1 });
  const turns = createSharedSemaphore(shares);
  const ofHog = Array.from({ length: 4 }, () => turns.take("hog"));
  const admitted: string[] = [];
  for (let i = 0; i < 9; i++) turns.wait("hog", () => admitted.push("hog"));
  const ofOthers = ["b", "c", "d", "e"].map((caller) => turns.take(caller));
  expect(ofOthers.every((turn) => turn !== undefined)).toBe(true);
  turns.wait("f", () => admitted.push("f"));
  ofHog[0]?.end();
  expect(admitted).toEqual(["f"]);
  // Six others run still, or the hog's own: nothing of its is begun before all together have no more than there is for anyone.
  for (const turn of [...ofOthers, ofHog[1]]) turn?.end();
  expect([admitted.filter((name) => name === "hog").length, shares.taken()]).toEqual([1, 4]);
});
