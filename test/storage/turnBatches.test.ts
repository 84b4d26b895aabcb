import { afterEach, expect, test, vi } from "vitest";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createTurnBatches } from "../../src/platform/storage/mongo/turnBatches.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";

afterEach(() => vi.restoreAllMocks());

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Batches that are sent when they leave, and answered when the test says so. */
const gated = ({ most = 10, atOnce = 2 } = {}) => {
  const sent: string[][] = [];
  const answers: (() => void)[] = [];
  const refused: unknown[] = [];
  const join = createTurnBatches<{ readonly key: string; readonly reject: (error: unknown) => void }>({
    ...{ most, atOnce, patience: 2_500 },
    send: (jobs) => {
      sent.push(jobs.map(({ key }) => key));
      return new Promise((resolve) => answers.push(resolve));
    },
  });
  const joinAll = (keys: string): void => {
    for (const key of keys) join({ key, reject: (error) => refused.push(error) });
  };
  const answer = async (): Promise<void> => {
    answers.shift()?.();
    await nextTurn();
    await nextTurn();
  };
  return { joinAll, answer, sent, refused };
};

test("all entries of one turn leave at its end as one batch, sorted by key", async () => {
  const { joinAll, sent } = gated();
  joinAll("cab");
  expect(sent).toEqual([]);
  await nextTurn();
  expect(sent).toEqual([["a", "b", "c"]]);
});

test("entries that arrive while the most batches are in flight leave together after the next answer", async () => {
  const { joinAll, answer, sent } = gated({ atOnce: 2 });
  for (const keys of ["a", "b", "c", "de"]) {
    joinAll(keys);
    await nextTurn();
  }
  expect(sent).toEqual([["a"], ["b"]]);
  await answer();
  expect(sent).toEqual([["a"], ["b"], ["c", "d", "e"]]);
});

test("a batch has no more than it may, nor two of one key; the others leave with the next ones, in their order", async () => {
  const { joinAll, answer, sent } = gated({ most: 3, atOnce: 1 });
  joinAll("aabcda");
  await nextTurn();
  for (let i = 0; i < 3; i++) await answer();
  expect(sent).toEqual([["a", "b", "c"], ["a", "d"], ["a"]]);
});

test("an entry that waited longer than its caller is refused, and never sent", async () => {
  let now = 1_000;
  vi.spyOn(systemClock, "monotonic").mockImplementation(() => now);
  const { joinAll, answer, sent, refused } = gated({ atOnce: 1 });
  joinAll("a");
  await nextTurn();
  joinAll("b");
  now += 1_000;
  joinAll("c");
  now += 1_501;
  await answer();
  expect(sent).toEqual([["a"], ["c"]]);
  expect(refused).toEqual([expect.any(StoreUnavailableError)]);
  expect(refused).toMatchObject([{ outcomeUnknown: false }]);
});
