import { expect, test } from "vitest";
import { createRoundRobinQueue, type RoundRobinQueue } from "../../src/platform/fairness/roundRobinQueue.ts";

const drain = (line: RoundRobinQueue<string>): string[] => {
  const taken: string[] = [];
  for (let item = line.next(); item !== undefined; item = line.next()) taken.push(item);
  return taken;
};

test("turns go around the callers, and within each of them around his addresses", () => {
  const line = createRoundRobinQueue<string>();
  for (const i of [1, 2, 3, 4]) line.add(["hog", "x"], `hog x${i}`);
  line.add(["hog", "y"], "hog y");
  line.add(["b", "x"], "b1");
  line.add(["b", "x"], "b2");
  expect(drain(line)).toEqual(["hog x1", "b1", "hog y", "b2", "hog x2", "hog x3", "hog x4"]);
  expect(line.isEmpty()).toBe(true);
});

test("a caller that enters again and again has one turn for each of the others'", () => {
  const line = createRoundRobinQueue<string>();
  for (const name of ["a", "b", "c"]) line.add([name], name);
  const taken: string[] = [];
  for (let i = 0; i < 9; i++) {
    const name = line.next() ?? "";
    taken.push(name);
    line.add([name], name);
  }
  expect(taken.join("")).toBe("abcabcabc");
});

test("an entry taken out of the line has no turn", () => {
  const line = createRoundRobinQueue<string>();
  line.add(["a", "x"], "first");
  line.add(["a", "x"], "second");
  line.add(["b"], "other");
  line.remove(["a", "x"], "first");
  line.remove(["b"], "other");
  line.remove(["nobody", "x"], "first");
  expect(drain(line)).toEqual(["second"]);
});
