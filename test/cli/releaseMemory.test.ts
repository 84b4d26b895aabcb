import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { releaseMemory } from "../../src/cli/releaseMemory.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

test("what nothing refers to any more is given back ten seconds after the start, not before the service is ready", async () => {
  const left = new WeakRef({ loaded: "by the start" });
  // A reference is kept to the end of the turn that made it.
  await new Promise(setImmediate);
  releaseMemory();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(10_000);
  expect(left.deref()).toBeUndefined();
});

test("a service that stops before leaves it", () => {
  const keepMemory = releaseMemory();
  keepMemory();
  expect(vi.getTimerCount()).toBe(0);
});
