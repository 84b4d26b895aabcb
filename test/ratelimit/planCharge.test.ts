import { describe, expect, test } from "vitest";
import { type ChargePlan, chargeCounter, planCharge } from "../../src/domain/planCharge.ts";
import { rollForward } from "../../src/domain/rollForward.ts";
import type { ChargeRequest, SharedCounter } from "../../src/domain/sharedCounter.ts";
import { nextChunk } from "../../src/ratelimit/chargeSize.ts";

const DURATION = 1_000;
/** The middle of window 10: half of what the window before counted still weighs. */
const NOW = 10_500;
/** A node that never saw the counter, or saw it a moment ago, and holds nothing. */
const UNSEEN = { known: null, held: 0, heldSeq: -1 };
const KNOWN = { known: { seq: 10, current: 30, previous: 20 }, held: 0, heldSeq: 10 };
const REQUEST = { duration: DURATION, limit: 100, cost: 1, need: 1, chunk: 0, now: NOW };
const STORED = { seq: 10, current: 30, previous: 20 };

const write = (plan: Omit<Extract<ChargePlan, { kind: "write" }>, "kind" | "givesBack"> & { readonly givesBack?: number }): ChargePlan => ({
  kind: "write",
  givesBack: 0,
  ...plan,
});

interface Row {
  readonly sentence: string;
  readonly node?: Pick<ChargeRequest, "known" | "held" | "heldSeq">;
  readonly read?: SharedCounter | null;
  readonly request?: Partial<typeof REQUEST>;
  readonly plan: ChargePlan;
}

const REREAD: ChargePlan = { kind: "reread" };
const REFUND: ChargePlan = { kind: "refund" };

const rows: readonly Row[] = [
  // What it is decided by.
  {
    sentence: "what is known of the present window saves a read",
    node: KNOWN,
    plan: write({ from: STORED, state: STORED, amount: 1, ceiling: 90 }),
  },
  { sentence: "a counter of which nothing is known is read first", node: { ...KNOWN, known: undefined }, plan: REREAD },
  {
    sentence: "a counter that the node never saw is opened unread",
    node: UNSEEN,
    plan: write({ from: null, state: { seq: 10, current: 0, previous: 0 }, amount: 1, ceiling: 100 }),
  },
  // Which write.
  {
    sentence: "a counter that is not there is opened",
    read: null,
    plan: write({ from: null, state: { seq: 10, current: 0, previous: 0 }, amount: 1, ceiling: 100 }),
  },
  {
    sentence: "one in the present window is charged",
    read: STORED,
    plan: write({ from: STORED, state: STORED, amount: 1, ceiling: 90 }),
  },
  {
    sentence: "one in the window before is rolled",
    read: { seq: 9, current: 40, previous: 99 },
    plan: write({
      from: { seq: 9, current: 40, previous: 99 },
      state: { seq: 10, current: 0, previous: 40 },
      amount: 1,
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
      ceiling: 100,
    }),
  },
  // How much.
  {
    sentence: "all that those in line need is charged, and the cost alone if that does not fit",
    read: STORED,
    request: { cost: 2, need: 7 },
    plan: write({ from: STORED, state: STORED, amount: 7, ceiling: 90 }),
  },
  {
    sentence: "a chunk counts up to a twentieth of what is left",
    read: STORED,
    request: { chunk: 50 },
    plan: write({ from: STORED, state: STORED, amount: 3, ceiling: 90 }),
  },
  {
    sentence: "no more is charged than there is room for",
    read: { ...STORED, current: 85 },
    request: { cost: 2, need: 9 },
    plan: write({ from: { ...STORED, current: 85 }, state: { ...STORED, current: 85 }, amount: 5, ceiling: 90 }),
  },
  {
    sentence: "what is held already is not charged again",
    node: { ...KNOWN, held: 2 },
    request: { cost: 3, need: 6 },
    plan: write({ from: STORED, state: STORED, amount: 4, ceiling: 90 }),
  },
  {
    sentence: "held budget that suffices is still judged under this limit",
    node: { ...KNOWN, held: 5 },
    request: { cost: 3, need: 3 },
    plan: write({ from: STORED, state: STORED, amount: 0, ceiling: 90 }),
  },
  {
    sentence: "the last token is charged",
    read: { ...STORED, current: 89 },
    plan: write({ from: { ...STORED, current: 89 }, state: { ...STORED, current: 89 }, amount: 1, ceiling: 90 }),
  },
  {
    sentence: "what is held already counts among what is left, of which a chunk is a twentieth",
    node: { known: { ...STORED, current: 32 }, held: 2, heldSeq: 10 },
    request: { chunk: 50 },
    plan: write({ from: { ...STORED, current: 32 }, state: { ...STORED, current: 32 }, amount: 1, ceiling: 90 }),
  },
  // Held budget of another window.
  {
    sentence: "what is left of the window before goes back with the write that begins the next one",
    node: { known: undefined, held: 10, heldSeq: 9 },
    read: { seq: 9, current: 40, previous: 20 },
    plan: write({
      from: { seq: 9, current: 40, previous: 20 },
      state: { seq: 10, current: 0, previous: 30 },
      amount: 1,
      ceiling: 85,
      givesBack: 10,
    }),
  },
  {
    sentence: "where another node has begun the next one it goes back by itself",
    node: { known: undefined, held: 10, heldSeq: 9 },
    read: STORED,
    plan: REFUND,
  },
  {
    sentence: "and also where another node has begun one since, which is over",
    node: { known: undefined, held: 10, heldSeq: 8 },
    read: { seq: 9, current: 40, previous: 20 },
    plan: REFUND,
  },
  {
    sentence: "and also where a wrong clock has begun the one that it was charged in",
    node: { known: undefined, held: 10, heldSeq: 100 },
    read: { seq: 100, current: 30, previous: 20 },
    plan: REFUND,
  },
  { sentence: "and also where the counter is gone", node: { known: undefined, held: 10, heldSeq: 9 }, read: null, plan: REFUND },
  {
    sentence: "and also where nothing would be written, as there is no room",
    node: { known: undefined, held: 10, heldSeq: 9 },
    read: { seq: 9, current: 250, previous: 0 },
    plan: REFUND,
  },
  // No room.
  { sentence: "what is known without a read refuses nobody", node: { ...KNOWN, known: { ...STORED, current: 90 } }, plan: REREAD },
  {
    sentence: "what was read refuses, and the store has the counter in this window",
    read: { ...STORED, current: 90 },
    plan: { kind: "refuse", state: { ...STORED, current: 90 }, isStored: true, setBackFrom: undefined },
  },
  {
    sentence: "the window before refuses by its weight, and the store has nothing of the present one",
    read: { seq: 9, current: 200, previous: 0 },
    plan: { kind: "refuse", state: { seq: 10, current: 0, previous: 200 }, isStored: false, setBackFrom: undefined },
  },
  {
    sentence: "a cost beyond the limit is refused by a counter that is not there",
    read: null,
    request: { cost: 101, need: 101 },
    plan: { kind: "refuse", state: { seq: 10, current: 0, previous: 0 }, isStored: false, setBackFrom: undefined },
  },
  {
    sentence: "counts of a wrong clock are set back before they refuse, so that they age",
    read: { seq: 100, current: 70, previous: 40 },
    plan: {
      kind: "refuse",
      state: { seq: 10, current: 110, previous: 0 },
      isStored: true,
      setBackFrom: { seq: 100, current: 70, previous: 40 },
    },
  },
];

describe("the plan of a charge", () => {
  test.each(rows)("$sentence", ({ node = UNSEEN, read, request, plan }) => {
    expect(planCharge({ ...REQUEST, ...node, ...request }, read)).toEqual(plan);
  });
});

describe("a charge in one step", () => {
  const charge = (counter: SharedCounter | null, request: Partial<ChargeRequest> = {}) =>
    chargeCounter(counter, { ...REQUEST, ...UNSEEN, ...request });

  test.each([
    {
      sentence: "grants what all need, as far as there is room",
      counter: { seq: 10, current: 95, previous: 0 },
      request: { need: 9 },
      next: { seq: 10, current: 100, previous: 0 },
      amount: 5,
    },
    {
      sentence: "grants nothing where the first cost does not fit, and leaves the counter as it is",
      counter: { seq: 10, current: 95, previous: 0 },
      request: { cost: 6, need: 9 },
      next: undefined,
      amount: 0,
    },
    { sentence: "opens a counter", counter: null, request: {}, next: { seq: 10, current: 1, previous: 0 }, amount: 1 },
    {
      sentence: "gives budget of the window before back, also when it grants nothing",
      counter: { seq: 9, current: 250, previous: 0 },
      request: { held: 10, heldSeq: 9 },
      next: { seq: 9, current: 240, previous: 0 },
      amount: 0,
    },
    {
      sentence: "gives budget back that another node has rolled over",
      counter: { seq: 10, current: 30, previous: 20 },
      request: { held: 10, heldSeq: 9 },
      next: { seq: 10, current: 31, previous: 10 },
      amount: 1,
    },
    {
      sentence: "writes nothing where the budget that is held suffices",
      counter: { seq: 10, current: 30, previous: 20 },
      request: { cost: 3, need: 3, held: 5, heldSeq: 10 },
      next: undefined,
      amount: 0,
    },
    {
      sentence: "sets counts of a wrong clock back though it grants nothing",
      counter: { seq: 100, current: 70, previous: 40 },
      request: {},
      next: { seq: 10, current: 110, previous: 0 },
      amount: 0,
    },
  ])("$sentence", ({ counter, request, next, amount }) => {
    const charged = charge(counter, request);
    expect(charged.next).toEqual(next);
    expect(charged.answer.amount).toBe(amount);
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
