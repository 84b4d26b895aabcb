import { expect, test } from "vitest";
import { createTurns, inTurns } from "../../src/platform/codec/largeMessages.ts";

const caller = (...path: string[]) => ({ path, signal: undefined });

/** A task of several steps. Each step records the task's name. */
function* work(name: string, steps: number, done: string[]): Generator<void, string> {
  for (let i = 0; i < steps; i++) {
    done.push(name);
    yield;
  }
  return name;
}

test("large messages are handled one at a time, however many a caller has, another's is next but one", async () => {
  const done: string[] = [];
  const hogs = Array.from({ length: 100 }, () => inTurns(caller("hog", "address"), work("hog", 3, done)));
  expect(await inTurns(caller("b", "address"), work("b", 3, done))).toBe("b");
  expect(done.filter((name) => name === "hog").length).toBeLessThanOrEqual(2 * 3);
  expect(done.join(" ")).toContain("b b b");
  await Promise.all(hogs);
});

test("each step of a large message has a turn of the event loop of its own", async () => {
  const done: string[] = [];
  let isOver = false;
  const other = (): void => {
    done.push("-");
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  await inTurns(caller("a"), work("a", 5, done));
  isOver = true;
  expect(done.join("")).not.toContain("aa");
});

/** A clock that only the work and the waiting move; `waits` are the milliseconds that passed between steps. */
const createHeldTurns = () => {
  let now = 0;
  const waits: number[] = [];
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  const turns = createTurns({ monotonic: () => now }, async (milliseconds) => {
    waits.push(milliseconds);
    pass(milliseconds);
  });
  /** Work whose steps take so many milliseconds each. */
  function* lasting(...steps: number[]): Generator<void, void> {
    for (const [i, milliseconds] of steps.entries()) {
      if (i > 0) yield;
      pass(milliseconds);
    }
  }
  return { turns, waits, pass, lasting };
};

test("after each step of a large message others have as long as it took, before the next message, too", async () => {
  const { turns, waits, lasting } = createHeldTurns();
  await Promise.all([turns(caller("a"), lasting(30, 5)), turns(caller("b"), lasting(7, 0))]);
  expect(waits).toEqual([0, 30, 5, 7]);
});

test("a large message that comes later than that waits for nothing", async () => {
  const { turns, waits, pass, lasting } = createHeldTurns();
  await turns(caller("a"), lasting(30));
  pass(100);
  await turns(caller("a"), lasting(1));
  expect(waits).toEqual([0, 0]);
});

test("a process that was stopped within a step rests no longer than 250 ms", async () => {
  const { turns, waits, lasting } = createHeldTurns();
  await turns(caller("a"), lasting(3_600_000, 0));
  expect(waits).toEqual([0, 250]);
});

test("a step that fails is followed by a rest as well", async () => {
  const { turns, waits, pass, lasting } = createHeldTurns();
  // biome-ignore lint/correctness/useYield: it fails in its first step
  function* fail(): Generator<void, void> {
    pass(20);
    throw new Error("broken");
  }
  await expect(turns(caller("a"), fail())).rejects.toThrow("broken");
  await turns(caller("a"), lasting(0));
  expect(waits).toEqual([0, 20]);
});

test("a task whose caller has gone is not started, or not continued", async () => {
  const done: string[] = [];
  const controller = new AbortController();
  const { signal } = controller;
  function* abort(): Generator<void, void> {
    done.push("first");
    controller.abort(new Error("gone"));
    yield;
    done.push("second");
  }
  const outcomes = Promise.allSettled([
    inTurns({ path: ["a"], signal }, abort()),
    ...Array.from({ length: 10 }, () => inTurns({ path: ["a"], signal }, work("gone", 1, done))),
  ]);
  await inTurns(caller("a"), work("wanted", 1, done));
  expect(done).toEqual(["first", "wanted"]);
  expect((await outcomes).map(({ status }) => status)).toEqual(Array(11).fill("rejected"));
});

test("work that fails lets the next begin", async () => {
  // biome-ignore lint/correctness/useYield: it fails in its first step
  function* fail(): Generator<void, void> {
    throw new Error("broken");
  }
  await expect(inTurns(caller("a"), fail())).rejects.toThrow("broken");
  expect(await inTurns(caller("a"), work("next", 1, []))).toBe("next");
});
