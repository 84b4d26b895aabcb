import { expect, test } from "vitest";
import { simulatedCounters } from "../../bench/limiterRuns/simulation.ts";
import { createQuota } from "../../src/features/analytics/quota.ts";
import { createManagementLimit } from "../../src/features/calls/managementLimit.ts";
import { createLimiter } from "../../src/features/ratelimit/limiter.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import type { IncomingCall } from "../../src/platform/rpc/incomingCall.ts";

test("[management §7] checks of callers are distinguished from those of the quota and of the workspace's own limit", async () => {
  const decisions: boolean[] = [];
  const limiter = createLimiter({
    clock: systemClock,
    counters: simulatedCounters({ latency: () => 0 }),
    storeDown: "deny",
    onDecision: (_passed, _source, isOwn) => decisions.push(isOwn),
  });
  const told = async (work: () => Promise<unknown>): Promise<boolean[]> => {
    decisions.length = 0;
    await work();
    return [...decisions];
  };
  const now = systemClock.now();
  const check = { key: "a", limit: 10, duration: 60_000, cost: 1 };
  expect(await told(async () => limiter.check([check], now))).toEqual([false]);
  expect(await told(async () => limiter.check([check, { ...check, key: "b" }], now))).toEqual([false, false]);
  const quota = createQuota({ limiter, queriesPerHour: 10, secondsPerHour: 10 });
  for (const ask of [() => quota.admit(now), () => quota.spend(5, now), () => quota.left(now, {})]) {
    const heard = await told(ask);
    expect([heard.length > 0, new Set(heard)]).toEqual([true, new Set([true])]);
  }
  // The parts of a call that the limit uses.
  const call: Partial<IncomingCall> = { receivedAt: now, setHeader: () => undefined };
  expect(await told(() => createManagementLimit(limiter, 10)(call as IncomingCall))).toEqual([true]);
});
