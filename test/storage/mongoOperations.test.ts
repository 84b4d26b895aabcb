import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createOperations } from "../../src/platform/storage/mongo/operations.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";

describe("operations of the MongoDB driver", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("one that the driver never settles is given up, and its outcome is unknown", async () => {
    const { run, end } = createOperations(20_000);
    const settled: unknown[] = [];
    const stuck = run(() => new Promise<never>(() => undefined)).catch((error: unknown) => settled.push(error));
    const patient = run(() => new Promise<never>(() => undefined), Number.POSITIVE_INFINITY);
    patient.then(
      () => settled.push("patient"),
      () => settled.push("patient"),
    );
    expect(await run(async () => "answer")).toBe("answer");
    await vi.advanceTimersByTimeAsync(19_000);
    expect(settled).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    await stuck;
    expect(settled).toEqual([expect.any(StoreUnavailableError)]);
    expect(settled).toMatchObject([{ outcomeUnknown: true }]);
    void end();
  });

  test("the end waits for those that run, those that are given up included, and lets none begin", async () => {
    const { run, end } = createOperations(20_000);
    const stuck = run(() => new Promise<never>(() => undefined)).catch((error: unknown) => error);
    let isOver = false;
    const over = end().then(() => {
      isOver = true;
    });
    await expect(run(async () => undefined)).rejects.toThrow("closed");
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(21_000);
    expect(await stuck).toBeInstanceOf(StoreUnavailableError);
    await over;
    expect(isOver).toBe(true);
  });
});
