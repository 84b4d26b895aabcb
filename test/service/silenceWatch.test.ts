import { expect, test } from "vitest";
import { createSilenceWatch } from "../../src/service/workers/silenceWatch.ts";

test("a worker that leaves three questions in a row unanswered is named, and no other", () => {
  const asked: number[] = [];
  const silent: number[] = [];
  const watch = createSilenceWatch(
    (worker) => void asked.push(worker),
    (worker) => void silent.push(worker),
  );
  for (let round = 0; round < 3; round++) {
    watch.round([1, 2]);
    watch.heard(1);
  }
  expect(silent).toEqual([]);
  watch.round([1, 2]);
  expect(silent).toEqual([2]);
  // It ended; its replacement starts from zero.
  watch.heard(2);
  for (let round = 0; round < 3; round++) watch.round([2]);
  expect(silent).toEqual([2]);
  expect(asked).toEqual([1, 2, 1, 2, 1, 2, 1, 2, 2, 2]);
});
