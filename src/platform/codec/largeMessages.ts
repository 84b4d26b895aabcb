import { setTimeout as sleep } from "node:timers/promises";
import { type Clock, systemClock } from "../base/clock.ts";
import { createFairSemaphore, type PermitRequest } from "../fairness/fairSemaphore.ts";
import type { CallerPath } from "../fairness/fairShares.ts";

/** The longest rest after a step, in milliseconds. */
const longestRest = 250;

/** Runs the work on a large message when its turn comes (`createTurns`). */
export type InTurns = <T>(request: PermitRequest, work: Generator<unknown, T>) => Promise<T>;

/**
 * Creates the turns of large messages: one message at a time, round-robin between callers. Each step of the work ends with `yield` and
 * is followed by a rest as long as the step, at most 250 ms, in which other calls are served. Fails with the signal's reason once it
 * is aborted.
 */
export const createTurns = ({ monotonic }: Pick<Clock, "monotonic">, wait: (milliseconds: number) => Promise<unknown>): InTurns => {
  const turns = createFairSemaphore(1);
  let restsUntil = Number.NEGATIVE_INFINITY;

  const step = <T>(work: Generator<unknown, T>): IteratorResult<unknown, T> => {
    const began = monotonic();
    try {
      return work.next();
    } finally {
      const ended = monotonic();
      restsUntil = ended + Math.min(ended - began, longestRest);
    }
  };

  return (request, work) =>
    turns.run(
      request,
      () => undefined,
      async () => {
        for (;;) {
          // A timer, for immediates write the answers of other calls: a step would come before those that came during the last one.
          await wait(Math.max(0, restsUntil - monotonic()));
          request.signal?.throwIfAborted();
          const { done, value } = step(work);
          if (done) return value;
        }
      },
    );
};

/** One for the process, as its event loop is. */
export const inTurns: InTurns = createTurns(systemClock, sleep);

function* writeParts<P>(first: P, parts: Generator<P, P>, toBytes: (part: P) => Buffer): Generator<void, Buffer[]> {
  const written = [toBytes(first)];
  for (;;) {
    yield;
    const { done, value } = parts.next();
    written.push(toBytes(value));
    if (done) return written;
  }
}

/** Writes what comes after the first part of a large answer, a part in each turn, whoever still waits for it. */
export const writeInTurns = <P>(first: P, parts: Generator<P, P>, path: CallerPath, toBytes: (part: P) => Buffer): Promise<Buffer[]> =>
  inTurns({ path, signal: undefined }, writeParts(first, parts, toBytes));
