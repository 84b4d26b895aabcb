import { systemClock } from "../../src/platform/base/clock.ts";

/** Milliseconds that each of `times` calls took, one after the other. */
export const timed = async (times: number, work: (round: number) => Promise<unknown>): Promise<number[]> => {
  const measured: number[] = [];
  for (let round = 0; round < times; round++) {
    const startedAt = systemClock.monotonic();
    await work(round);
    measured.push(systemClock.monotonic() - startedAt);
  }
  return measured;
};
