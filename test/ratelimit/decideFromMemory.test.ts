import { expect, test } from "vitest";
import { decideFromMemory, type MemoryDecision } from "../../src/features/ratelimit/decideFromMemory.ts";
import { type Claim, createLocalCounter, type LimitedCall, type LocalCounter } from "../../src/features/ratelimit/localCounter.ts";

const NOW = 10_500;
const MONOTONIC = 5_000;
/** Learned just now in the present window: 50 are used, 5 of them held here; half of the previous 20 still weighs. */
const KNOWN = { seq: 10, current: 50, previous: 20, learnedAt: MONOTONIC, stored: true, held: 5, heldLimit: 100 };

interface Row {
  readonly sentence: string;
  readonly counter?: Partial<LocalCounter>;
  readonly limit?: number;
  readonly cost?: number;
  readonly lost?: boolean;
  /** This call's part of the counter's reservations. */
  readonly ownReserved?: number;
  readonly decision: MemoryDecision;
}

const rows: readonly Row[] = [
  { sentence: "held budget is taken", cost: 5, decision: "take" },
  { sentence: "a call that costs more than is held asks the store while there may be room", cost: 6, decision: "askStore" },
  { sentence: "budget that was charged under a higher limit is not for a lower one", limit: 99, decision: "askStore" },
  { sentence: "budget of the window before is not for this one", counter: { seq: 9 }, decision: "askStore" },
  { sentence: "a cost beyond the limit is refused, whatever is known", counter: { seq: 9 }, cost: 101, decision: "refuse" },
  { sentence: "what was learned within a second refuses", counter: { held: 0, current: 90 }, decision: "refuse" },
  {
    sentence: "what was learned a second ago does not",
    counter: { held: 0, current: 90, learnedAt: MONOTONIC - 1_000 },
    decision: "askStore",
  },
  {
    sentence: "[verify §11] nobody is refused what another call may still give back",
    counter: { held: 0, current: 91, reserved: 1 },
    cost: 10,
    decision: "askStore",
  },
  {
    sentence: "what the call itself has reserved is no reason to wait",
    counter: { held: 0, current: 91, reserved: 1 },
    cost: 10,
    ownReserved: 1,
    decision: "refuse",
  },
  { sentence: "cost 0 asks the store", cost: 0, decision: "askStore" },
  { sentence: "a call that has lost looks at what is known", lost: true, decision: "look" },
  { sentence: "and asks the store where nothing is known", lost: true, counter: { seq: 9 }, decision: "askStore" },
];

test.each(rows)("$sentence", ({ counter: known, limit = 100, cost = 1, lost = false, ownReserved, decision }) => {
  const counter = Object.assign(createLocalCounter("key", 1_000), KNOWN, known);
  const call: LimitedCall = { claims: [], now: NOW, monotonic: MONOTONIC, behalf: undefined, isOwn: false, lost };
  const claim: Claim = { counter, limit, cost, earlier: 0, call, grant: undefined };
  if (ownReserved !== undefined) {
    const grant = { granted: true, reserved: ownReserved, seq: 10, now: NOW, remaining: 0, source: "memory" } as const;
    call.claims.push({ ...claim, cost: ownReserved, grant });
  }
  call.claims.push(claim);
  const before = structuredClone(counter);
  expect(decideFromMemory(claim, NOW, MONOTONIC)).toBe(decision);
  expect(counter).toEqual(before);
});
