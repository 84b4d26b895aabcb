import { describe, expect, test } from "vitest";
import { nextStep, type ReservationState, type Step, stateOf } from "../../src/features/idempotency/reservationState.ts";

const expireAt = new Date(1_000);

describe("the state of a reservation", () => {
  test.each<[string, Parameters<typeof stateOf>[0], ReservationState]>([
    ["there is none", null, "absent"],
    ["its time is over", { expireAt: new Date(500), leaseUntil: 0 }, "expired"],
    ["its time is over, whatever else is said of it", { expireAt: new Date(500), leaseUntil: 900, done: true }, "expired"],
    ["its time ends later, and its lease holds", { expireAt: new Date(501), leaseUntil: 71 }, "inProgress"],
    ["its lease has run out", { expireAt, leaseUntil: 70 }, "abandoned"],
    ["its run has left it", { expireAt, leaseUntil: 0 }, "abandoned"],
    ["its answer was known beforehand, but not given", { expireAt, leaseUntil: 0, done: false }, "abandoned"],
    ["its answer was given", { expireAt, leaseUntil: 0, done: true }, "completed"],
    ["its answer was given, and its lease holds", { expireAt, leaseUntil: 900, done: true }, "completed"],
  ])("%s", (_, reservation, state) => {
    // Leases go by a clock of their own.
    expect(stateOf(reservation, 500, 70)).toBe(state);
  });
});

describe("[protocol §2] the reaction of a call to each state", () => {
  test.each<[ReservationState, Step, Step]>([
    // state, of the same request, of another one
    ["absent", "run", "run"],
    ["expired", "run", "run"],
    ["inProgress", "wait", "refuse"],
    ["abandoned", "resume", "run"],
    ["completed", "replay", "refuse"],
  ])("%s: the same request %s, another one %s", (state, same, other) => {
    expect([nextStep(state, true), nextStep(state, false)]).toEqual([same, other]);
  });
});
