import { describe, expect, test } from "vitest";
import { createFairSemaphore, type PermitRequest } from "../../src/platform/fairness/fairSemaphore.ts";

const taker = (name: string, signal = new AbortController().signal): PermitRequest => ({ path: [name], signal });
const free = (): void => undefined;

test("few tasks run at a time, and a caller with many keeps another waiting for no more than one of them", async () => {
  const turns = createFairSemaphore(2);
  const ran: string[] = [];
  let running = 0;
  let most = 0;
  const task = (name: string) => async (): Promise<void> => {
    most = Math.max(most, ++running);
    ran.push(name);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  };
  const many = Array.from({ length: 50 }, (_, i) => turns.run(taker("hog"), free, task(`hog ${i}`)));
  const few = [turns.run(taker("b"), free, task("b")), turns.run(taker("c"), free, task("c"))];
  const failing = turns.run(taker("d"), free, async () => {
    throw new Error("broken");
  });
  await expect(failing).rejects.toThrow("broken");
  await Promise.all([...many, ...few]);
  expect(most).toBe(2);
  expect(ran).toHaveLength(52);
  expect(ran.indexOf("b")).toBeLessThan(6);
  expect(ran.indexOf("c")).toBeLessThan(6);
  expect(ran.filter((name) => name.startsWith("hog"))).toEqual(Array.from({ length: 50 }, (_, i) => `hog ${i}`));
});

describe("a caller that waits for a turn", () => {
  test("leaves the line when its caller has gone, and never runs", async () => {
    const turns = createFairSemaphore(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const ran: string[] = [];
    const first = turns.run(taker("a"), free, () => promise);
    const controller = new AbortController();
    const gone = turns.run(taker("a", controller.signal), free, async () => void ran.push("gone"));
    const next = turns.run(taker("b"), free, async () => void ran.push("next"));
    controller.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    resolve();
    await Promise.all([first, next]);
    expect(ran).toEqual(["next"]);
  });

  test("may be refused, which takes no other caller's turn", async () => {
    const turns = createFairSemaphore(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = turns.run(taker("a"), free, () => promise);
    const refuse = (): never => {
      throw new Error("no room");
    };
    await expect(turns.run(taker("b"), refuse, async () => undefined)).rejects.toThrow("no room");
    resolve();
    await first;
    expect(await turns.run(taker("c"), refuse, async () => "ran")).toBe("ran");
  });
});
