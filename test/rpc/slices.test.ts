import { expect, test } from "vitest";
import { briefBody, wholeBody, wholePerTurn } from "../../src/rpc/http/limits.ts";
import { createSlices, type Sliced, type Worker } from "../../src/rpc/pipeline/slices.ts";

const worker = (...path: string[]): Worker => ({ path, signal: undefined });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** So many slices, each of which leaves its name. */
function* work(name: string, slices: number, done: string[]): Sliced<string> {
  for (let i = 0; i < slices; i++) {
    done.push(name);
    yield 1;
  }
  return name;
}

test("[attack B3] however many bodies a caller has in the line, another's has every second slice", async () => {
  const slices = createSlices();
  const done: string[] = [];
  const hogs = Array.from({ length: 100 }, () => slices.run(work("hog", 20, done), worker("hog", "address")));
  expect(await slices.run(work("b", 20, done), worker("b", "address"))).toBe("b");
  expect(done.filter((name) => name === "hog").length).toBeLessThanOrEqual(22);
  await Promise.all(hogs);
});

test("[attack B3] what nobody waits for any more takes no turn", async () => {
  const slices = createSlices();
  const done: string[] = [];
  const controller = new AbortController();
  const gone = Array.from({ length: 100 }, () => slices.run(work("gone", 5, done), { path: ["a"], signal: controller.signal }));
  const wanted = slices.run(work("wanted", 1, done), worker("a"));
  controller.abort(new Error("gone"));
  const outcomes = Promise.allSettled(gone);
  await turn();
  await turn();
  expect(done).toEqual(["wanted"]);
  await wanted;
  expect((await outcomes).every(({ status }) => status === "rejected")).toBe(true);
});

test("[attack B3] small bodies are decoded at once until a turn of the event loop has had enough of them", async () => {
  const slices = createSlices();
  const atOnce = (): number => Array.from({ length: 100 }, () => slices.mayBeWhole(wholeBody)).filter(Boolean).length;
  expect(atOnce()).toBe(wholePerTurn / wholeBody);
  expect(slices.mayBeWhole(briefBody)).toBe(true);
  await turn();
  expect(atOnce()).toBe(wholePerTurn / wholeBody);
});

test("[attack B3] while there is a line small bodies stand in it, but for the briefest", async () => {
  const slices = createSlices();
  const large = slices.run(work("large", 3, []), worker("a"));
  expect([slices.mayBeWhole(wholeBody), slices.mayBeWhole(briefBody)]).toEqual([false, true]);
  await large;
  expect(slices.mayBeWhole(wholeBody)).toBe(true);
});
