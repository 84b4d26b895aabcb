import { expect, test } from "vitest";
import { createFairTurns } from "../../src/domain/fairTurns.ts";

test("[attack B8] few tasks run at a time, and a caller with many keeps another waiting for no more than one of them", async () => {
  const turns = createFairTurns(2);
  const ran: string[] = [];
  let running = 0;
  let most = 0;
  const task = (name: string) => async (): Promise<void> => {
    most = Math.max(most, ++running);
    ran.push(name);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  };
  const many = Array.from({ length: 50 }, (_, i) => turns.run("hog", task(`hog ${i}`)));
  const few = [turns.run("b", task("b")), turns.run("c", task("c"))];
  const failing = turns.run("d", async () => {
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
