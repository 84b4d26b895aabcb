import { expect, test } from "vitest";
import { StoreOverloadedError } from "../../src/storage/errors.ts";
import { createPlaces } from "../../src/storage/places.ts";

test("as many enter as there are places, the others in the order of their arrival", async () => {
  const places = createPlaces(2, 60_000);
  const entered: number[] = [];
  expect([places.enter(), places.enter()]).toEqual([undefined, undefined]);
  const waiting = [1, 2, 3].map((i) => places.enter()?.then(() => entered.push(i)));
  places.leave();
  places.leave();
  await Promise.all(waiting.slice(0, 2));
  expect(entered).toEqual([1, 2]);
  places.leave();
  await waiting[2];
  places.leave();
  places.leave();
  expect(places.enter()).toBeUndefined();
});

test("who waits too long is told that the store has too much to do, and takes no place; so is who comes when very many wait", async () => {
  const places = createPlaces(1, 10);
  expect(places.enter()).toBeUndefined();
  const late = Array.from({ length: 101 }, () => places.enter());
  const told = await Promise.allSettled(late);
  for (const each of told) expect(each).toMatchObject({ reason: expect.any(StoreOverloadedError) });
  expect(told.map((each) => each.status === "rejected" && each.reason.message).at(-1)).toBe("too many operations wait for the store");
  places.leave();
  expect(places.enter()).toBeUndefined();
});
