import { expect, test } from "vitest";
import type { Permit } from "../../src/platform/fairness/sharedSemaphore.ts";
import { createPlaces, type Places } from "../../src/platform/storage/decorators/places.ts";
import { StoreOverloadedError } from "../../src/platform/storage/port/errors.ts";

const NEVER = 1_000_000;

/** Enters a line several times, and records the names in the order of their turns. */
const enterAs = async (places: Places, line: string, times: number, entered: string[], held: Permit[]): Promise<void> => {
  await Promise.all(
    Array.from({ length: times }, async (_, i) => {
      const turn = await places.enter(line, undefined);
      entered.push(`${line}${i}`);
      held.push(turn);
    }),
  );
};

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("one line alone has half of the places, and what waits in it enters in the order of its arrival", async () => {
  const places = createPlaces(4, NEVER);
  const entered: string[] = [];
  const held: Permit[] = [];
  const all = enterAs(places, "a", 5, entered, held);
  await settled();
  expect(entered).toEqual(["a0", "a1"]);
  for (let i = 0; i < 5; i++) {
    held[i]?.end();
    await settled();
  }
  await all;
  expect(entered).toEqual(["a0", "a1", "a2", "a3", "a4"]);
});

test("a new caller has a place at once, although nothing of an earlier flood ends", async () => {
  const places = createPlaces(8, NEVER);
  const entered: string[] = [];
  const held: Permit[] = [];
  void enterAs(places, "hog", 500, entered, held);
  for (const line of ["b", "c", "", "counters/"]) expect(places.enter(line, undefined)).not.toBeInstanceOf(Promise);
  await settled();
  expect(entered).toHaveLength(4);
});

test("lines are served in turn, so a flood delays each call of another line by no more than one of its own", async () => {
  const places = createPlaces(1, NEVER);
  const entered: string[] = [];
  const held: Permit[] = [];
  const lines = [enterAs(places, "hog", 50, entered, held), enterAs(places, "b", 2, entered, held), enterAs(places, "", 2, entered, held)];
  for (let i = 0; i < 54; i++) {
    await settled();
    held[i]?.end();
  }
  await Promise.all(lines);
  expect(entered.slice(0, 7)).toEqual(["hog0", "hog1", "b0", "0", "hog2", "b1", "1"]);
  expect(entered.filter((name) => name.startsWith("hog"))).toEqual(Array.from({ length: 50 }, (_, i) => `hog${i}`));
});

test("when very many wait, those are refused whose line is longest, not those of another", async () => {
  const places = createPlaces(1, NEVER);
  const running = await places.enter("hog", undefined);
  const refused: number[] = [];
  const enter = async (i: number): Promise<void> => {
    try {
      (await places.enter("hog", undefined)).end();
    } catch {
      refused.push(i);
    }
  };
  const flood = Array.from({ length: 101 }, (_, i) => enter(i));
  await settled();
  expect(refused).toEqual([100]);
  const others = Array.from({ length: 50 }, () => places.enter("", undefined));
  await settled();
  expect(refused).toEqual([100, ...Array.from({ length: 50 }, (_, i) => i)]);
  running.end();
  for (const other of others) (await other).end();
  await Promise.all(flood);
  expect(refused).toHaveLength(51);
});

test("a caller that waits too long is refused because the store is too busy, and takes no place", async () => {
  const places = createPlaces(1, 10);
  const running = await places.enter("a", undefined);
  const told = await Promise.allSettled([places.enter("a", undefined), places.enter("b", undefined)]);
  for (const each of told) expect(each).toMatchObject({ reason: expect.any(StoreOverloadedError) });
  running.end();
  expect(places.enter("c", undefined)).not.toBeInstanceOf(Promise);
});

test("a caller that is aborted while waiting leaves the line at once, with the reason, and the next one has its turn", async () => {
  const places = createPlaces(1, NEVER);
  const running = await places.enter("a", undefined);
  const caller = new AbortController();
  const reason = new Error("gone");
  const gone = places.enter("b", caller.signal);
  const next = places.enter("b", undefined);
  caller.abort(reason);
  await expect(gone).rejects.toBe(reason);
  running.end();
  (await next).end();
  expect(places.enter("a", undefined)).not.toBeInstanceOf(Promise);
});
