import { setTimeout as sleep } from "node:timers/promises";
import { createFairSemaphore, type PermitRequest } from "../fairness/fairSemaphore.ts";
import type { CallerPath } from "../fairness/fairShares.ts";

/** One for the process, as its event loop is. */
const turns = createFairSemaphore(1);

/**
 * Does work on a large message, each step of which ends with `yield` and has a turn of the event loop of its own. One
 * message at a time in this process, round-robin between callers. Fails with the signal's reason once that is aborted.
 */
export const inTurns = <T>(request: PermitRequest, work: Generator<unknown, T>): Promise<T> =>
  turns.run(
    request,
    () => undefined,
    async () => {
      for (;;) {
        // A timer, for immediates write the answers of other calls: a step would come before those that came during the last one.
        await sleep(0);
        request.signal?.throwIfAborted();
        const { done, value } = work.next();
        if (done) return value;
      }
    },
  );

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
