import { describe, expect, test } from "vitest";
import { createHeads, type WriterRows } from "../../src/features/analytics/tail/heads.ts";

const HOLD_MS = 5_000;
const rows = (writer: string, first: number, last: number, count = last - first + 1): WriterRows => ({ writer, first, last, count });
const place = (seqs: Record<string, number>): ReadonlyMap<string, number> => new Map(Object.entries(seqs));

describe("[management §6] the followable rows of each writer", () => {
  test("starts with the present rows and continues with new ones", () => {
    const heads = createHeads();
    expect(heads.begin([rows("a", 1, 10), rows("b", 501, 600)])).toEqual([]);
    expect(heads.place()).toEqual(place({ a: 10, b: 600 }));
    expect(heads.advance([rows("a", 11, 12), rows("c", 1, 3)], 0)).toEqual([]);
    expect(heads.place()).toEqual(place({ a: 12, b: 600, c: 3 }));
  });

  test("ends in front of rows that are missing, until they come", () => {
    const heads = createHeads();
    heads.begin([rows("a", 1, 10)]);
    expect(heads.advance([rows("a", 21, 30), rows("b", 6, 9)], 0)).toEqual([]);
    expect(heads.place()).toEqual(place({ a: 10 }));
    expect(heads.advance([rows("a", 11, 30), rows("b", 1, 9)], HOLD_MS - 1)).toEqual([]);
    expect(heads.place()).toEqual(place({ a: 30, b: 9 }));
    expect(heads.lostBetween(place({ a: 10 }), place({ a: 30, b: 9 }))).toBe(0);
  });

  test("continues without missing rows after five seconds, and reports their number once", () => {
    const heads = createHeads();
    heads.begin([rows("a", 1, 10)]);
    expect(heads.advance([rows("a", 11, 30, 15)], 1_000)).toEqual([]);
    expect(heads.advance([rows("a", 11, 35, 20)], 1_000 + HOLD_MS)).toEqual(["a"]);
    heads.explain([rows("a", 1, 12), rows("a", 18, 35)]);
    expect(heads.place()).toEqual(place({ a: 35 }));
    expect(heads.lostBetween(place({ a: 10 }), place({ a: 35 }))).toBe(5);
    expect(heads.lostBetween(place({ a: 10 }), place({ a: 12 }))).toBe(0);
    expect(heads.lostBetween(place({ a: 12 }), place({ a: 18 }))).toBe(5);
    expect(heads.lostBetween(place({ a: 18 }), place({ a: 35 }))).toBe(0);
  });

  test("rows that are there twice are none that are missing", () => {
    const heads = createHeads();
    heads.begin([rows("a", 1, 10, 12)]);
    expect(heads.advance([rows("a", 11, 12, 4)], 0)).toEqual([]);
    expect(heads.place()).toEqual(place({ a: 12 }));
  });

  test("earlier rows of a writer that is new to the reader are not counted as lost; those of a known writer are", () => {
    const heads = createHeads();
    heads.begin([rows("a", 101, 110)]);
    expect(heads.lostBetween(place({}), place({ a: 110 }))).toBe(0);
    expect(heads.lostBetween(place({ a: 90 }), place({ a: 110 }))).toBe(10);
    expect(heads.rangesFrom(place({}), 1_000)).toEqual([{ writer: "a", base: 100, upper: 110 }]);
  });

  test("ranges are bounded, and empty for who has read on elsewhere", () => {
    const heads = createHeads();
    heads.begin([rows("a", 1, 1_000), rows("b", 1, 5)]);
    expect(heads.rangesFrom(place({ a: 10, b: 7 }), 100)).toEqual([{ writer: "a", base: 10, upper: 110 }]);
  });

  test("writers whose rows are gone are forgotten, those that come meanwhile wait their turn", () => {
    const heads = createHeads();
    heads.begin([rows("a", 1, 10), rows("b", 1, 10)]);
    expect(heads.begin([rows("b", 6, 15), rows("c", 3, 4)])).toEqual([]);
    expect(heads.place()).toEqual(place({ b: 10 }));
    expect(heads.lostBetween(place({ b: 2 }), place({ b: 10 }))).toBe(3);
    heads.advance([rows("b", 11, 15), rows("c", 1, 4)], 0);
    expect(heads.place()).toEqual(place({ b: 15, c: 4 }));
  });
});
