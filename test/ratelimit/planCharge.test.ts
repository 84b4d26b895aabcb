import { describe, expect, test } from "vitest";
import { nextChunk } from "../../src/ratelimit/chargeRequest.ts";
import { type ChargeBasis, type ChargePlan, isHeldUnderHigherLimit, planCharge } from "../../src/ratelimit/planCharge.ts";
import { rollForward } from "../../src/ratelimit/rollForward.ts";

const DURATION = 1_000;
/** The middle of window 10: half of what the window before counted still weighs. */
const NOW = 10_500;
/** A counter that the node has never read. */
const UNSEEN = { duration: DURATION, seq: -1, current: 0, previous: 0, stored: false, held: 0, heldLimit: 0 };
/** One that learned its counts a moment ago, and holds nothing. */
const KNOWN = { ...UNSEEN, seq: 10, current: 30, previous: 20, stored: true };
const REQUEST = { limit: 100, cost: 1, need: 1, chunk: 0 };
const STORED = { seq: 10, current: 30, previous: 20 };

const write = (plan: Omit<Extract<ChargePlan, { kind: "write" }>, "kind" | "givesBack"> & { readonly givesBack?: number }): ChargePlan => ({
  kind: "write",
  givesBack: 0,
  ...plan,
});

interface Row {
  readonly sentence: string;
  readonly counter?: Partial<ChargeBasis["counter"]>;
  readonly read?: ChargeBasis["read"];
  readonly isShared?: boolean;
  readonly request?: Partial<typeof REQUEST>;
  readonly plan: ChargePlan;
}

const REREAD: ChargePlan = { kind: "reread" };
const REFUND: ChargePlan = { kind: "refund" };

const rows: readonly Row[] = [
  // The inputs of the decision.
  {
    sentence: "what is known of the present window saves a read",
    counter: KNOWN,
    plan: write({ from: STORED, state: STORED, amount: 1, least: 1, ceiling: 90 }),
  },
  { sentence: "what is known of the window before is read again", counter: { ...KNOWN, seq: 9 }, plan: REREAD },
  { sentence: "what the store did not have is read again", counter: { ...KNOWN, stored: false }, plan: REREAD },
  {
    sentence: "a counter that other nodes may know, and this one never saw, is opened unread",
    counter: UNSEEN,
    plan: write({ from: null, state: { seq: 10, current: 0, previous: 0 }, amount: 1, least: 1, ceiling: 100 }),
  },
  { sentence: "one that a node has for itself is read first", counter: UNSEEN, isShared: false, plan: REREAD },
  // Which write.
  {
    sentence: "a counter that is not there is opened",
    read: null,
    plan: write({ from: null, state: { seq: 10, current: 0, previous: 0 }, amount: 1, least: 1, ceiling: 100 }),
  },
  {
    sentence: "one in the present window is charged",
    read: STORED,
    plan: write({ from: STORED, state: STORED, amount: 1, least: 1, ceiling: 90 }),
  },
  {
    sentence: "one in the window before is rolled",
    read: { seq: 9, current: 40, previous: 99 },
    plan: write({
      from: { seq: 9, current: 40, previous: 99 },
      state: { seq: 10, current: 0, previous: 40 },
      amount: 1,
      least: 1,
      ceiling: 80,
    }),
  },
  {
    sentence: "one that was left alone for longer is rolled without its counts",
    read: { seq: 8, current: 40, previous: 99 },
    plan: write({
      from: { seq: 8, current: 40, previous: 99 },
      state: { seq: 10, current: 0, previous: 0 },
      amount: 1,
      least: 1,
      ceiling: 100,
    }),
  },
  {
    sentence: "one that another node's clock has moved ahead is charged where it is, with all of its previous count",
    read: { seq: 11, current: 30, previous: 20 },
    plan: write({
      from: { seq: 11, current: 30, previous: 20 },
      state: { seq: 11, current: 30, previous: 20 },
      amount: 1,
      least: 1,
      ceiling: 80,
    }),
  },
  {
    sentence: "one that a wrong clock has moved a minute ahead is rolled back with what it counts",
    read: { seq: 100, current: 30, previous: 20 },
    plan: write({
      from: { seq: 100, current: 30, previous: 20 },
      state: { seq: 10, current: 50, previous: 0 },
      amount: 1,
      least: 1,
      ceiling: 100,
    }),
  },
  // How much.
  {
    sentence: "all that those in line need is charged, and the cost alone if that does not fit",
    read: STORED,
    request: { cost: 2, need: 7 },
    plan: write({ from: STORED, state: STORED, amount: 7, least: 2, ceiling: 90 }),
  },
  {
    sentence: "a chunk counts up to a twentieth of what is left",
    read: STORED,
    request: { chunk: 50 },
    plan: write({ from: STORED, state: STORED, amount: 3, least: 1, ceiling: 90 }),
  },
  {
    sentence: "no more is charged than there is room for",
    read: { ...STORED, current: 85 },
    request: { cost: 2, need: 9 },
    plan: write({ from: { ...STORED, current: 85 }, state: { ...STORED, current: 85 }, amount: 5, least: 2, ceiling: 90 }),
  },
  {
    sentence: "what is held already is not charged again",
    counter: { ...KNOWN, held: 2, heldLimit: 100 },
    request: { cost: 3, need: 6 },
    plan: write({ from: STORED, state: STORED, amount: 4, least: 1, ceiling: 90 }),
  },
  {
    sentence: "held budget that suffices is still judged under this limit",
    counter: { ...KNOWN, held: 5, heldLimit: 50 },
    request: { cost: 3, need: 3 },
    plan: write({ from: STORED, state: STORED, amount: 0, least: 0, ceiling: 90 }),
  },
  {
    sentence: "the last token is charged",
    read: { ...STORED, current: 89 },
    plan: write({ from: { ...STORED, current: 89 }, state: { ...STORED, current: 89 }, amount: 1, least: 1, ceiling: 90 }),
  },
  {
    sentence: "what is held already counts among what is left, of which a chunk is a twentieth",
    counter: { ...KNOWN, current: 32, held: 2, heldLimit: 100 },
    request: { chunk: 50 },
    plan: write({ from: { ...STORED, current: 32 }, state: { ...STORED, current: 32 }, amount: 1, least: 0, ceiling: 90 }),
  },
  // Held budget of another window.
  {
    sentence: "what is left of the window before goes back with the write that begins the next one",
    counter: { ...KNOWN, seq: 9, current: 40, held: 10, heldLimit: 100 },
    read: { seq: 9, current: 40, previous: 20 },
    plan: write({
      from: { seq: 9, current: 40, previous: 20 },
      state: { seq: 10, current: 0, previous: 30 },
      amount: 1,
      least: 1,
      ceiling: 85,
      givesBack: 10,
    }),
  },
  {
    sentence: "where another node has begun the next one it goes back by itself",
    counter: { ...KNOWN, seq: 9, held: 10, heldLimit: 100 },
    read: STORED,
    plan: REFUND,
  },
  {
    sentence: "and also where another node has begun one since, which is over",
    counter: { ...KNOWN, seq: 8, held: 10, heldLimit: 100 },
    read: { seq: 9, current: 40, previous: 20 },
    plan: REFUND,
  },
  {
    sentence: "and also where a wrong clock has begun the one that it was charged in",
    counter: { ...KNOWN, seq: 100, held: 10, heldLimit: 100 },
    read: { seq: 100, current: 30, previous: 20 },
    plan: REFUND,
  },
  { sentence: "and also where the counter is gone", counter: { ...KNOWN, seq: 9, held: 10, heldLimit: 100 }, read: null, plan: REFUND },
  {
    sentence: "and also where nothing would be written, as there is no room",
    counter: { ...KNOWN, seq: 9, current: 250, held: 10, heldLimit: 300 },
    read: { seq: 9, current: 250, previous: 0 },
    plan: REFUND,
  },
  // No room.
  { sentence: "what is known without a read refuses nobody", counter: { ...KNOWN, current: 90 }, plan: REREAD },
  {
    sentence: "what was read refuses, and the store has the counter in this window",
    read: { ...STORED, current: 90 },
    plan: { kind: "refuse", state: { ...STORED, current: 90 }, stored: true, setBackFrom: undefined },
  },
  {
    sentence: "the window before refuses by its weight, and the store has nothing of the present one",
    read: { seq: 9, current: 200, previous: 0 },
    plan: { kind: "refuse", state: { seq: 10, current: 0, previous: 200 }, stored: false, setBackFrom: undefined },
  },
  {
    sentence: "a cost beyond the limit is refused by a counter that is not there",
    read: null,
    request: { cost: 101, need: 101 },
    plan: { kind: "refuse", state: { seq: 10, current: 0, previous: 0 }, stored: false, setBackFrom: undefined },
  },
  {
    sentence: "counts of a wrong clock are set back before they refuse, so that they age",
    read: { seq: 100, current: 70, previous: 40 },
    plan: {
      kind: "refuse",
      state: { seq: 10, current: 110, previous: 0 },
      stored: true,
      setBackFrom: { seq: 100, current: 70, previous: 40 },
    },
  },
];

describe("the plan of a charge", () => {
  test.each(rows)("$sentence", ({ counter = UNSEEN, read, isShared = true, request, plan }) => {
    const basis: ChargeBasis = { counter: { ...UNSEEN, ...counter }, read, now: NOW, isShared };
    expect(planCharge(basis, { ...REQUEST, ...request })).toEqual(plan);
  });

  test.each([
    { sentence: "a higher limit's budget goes back before a lower limit is charged", held: 3, heldLimit: 200, seq: 10, goesBack: true },
    { sentence: "a lower limit's stays", held: 3, heldLimit: 100, seq: 10, goesBack: false },
    { sentence: "that of a window that is over goes back with the next write", held: 3, heldLimit: 200, seq: 9, goesBack: false },
    { sentence: "without budget nothing does", held: 0, heldLimit: 200, seq: 10, goesBack: false },
  ])("$sentence", ({ goesBack, ...held }) => {
    expect(isHeldUnderHigherLimit({ counter: { ...KNOWN, ...held }, now: NOW }, 100)).toBe(goesBack);
  });
});

describe("a shared counter as of now", () => {
  test.each([
    { sentence: "in the present window it is as it stands", shared: STORED, state: STORED, now: NOW },
    {
      sentence: "a clock that is ahead by less than a minute is believed",
      shared: { ...STORED, seq: 70 },
      state: { ...STORED, seq: 70 },
      now: 70_000,
    },
    {
      sentence: "one that is ahead by more is not",
      shared: { ...STORED, seq: 71 },
      state: { seq: 10, current: 50, previous: 0 },
      now: NOW,
    },
  ])("$sentence", ({ shared, state, now }) => {
    expect(rollForward(shared, DURATION, NOW)).toEqual({ state, now });
  });
});

describe("the next chunk", () => {
  const lasts = { least: 200, most: 1_000 };
  test.each([
    { sentence: "is twice as large after one that was spent fast", chunk: 4, lasted: 199, least: 1, most: 50, next: 8 },
    { sentence: "stays after one that lasted", chunk: 4, lasted: 200, least: 1, most: 50, next: 4 },
    { sentence: "is half of one that lasted for too long", chunk: 5, lasted: 1_001, least: 1, most: 50, next: 2 },
    { sentence: "is never less than the least", chunk: 1, lasted: 1_001, least: 8, most: 50, next: 8 },
    { sentence: "is never more than may be held ahead, not even the least", chunk: 4, lasted: 0, least: 8, most: 3, next: 3 },
  ])("$sentence", ({ chunk, lasted, least, most, next }) => {
    expect(nextChunk(chunk, lasted, lasts, least, most)).toBe(next);
  });
});
