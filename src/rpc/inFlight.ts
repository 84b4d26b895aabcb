import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";

const TELL_EVERY_MS = 10_000;

/** The calls that are in work, from their arrival to their answer. */
export interface InFlight {
  /** Counts a call in. Throws 503 `service_unavailable` when there are as many as may be; nothing is counted then. */
  readonly enter: () => void;
  readonly leave: () => void;
}

export interface InFlightOptions {
  readonly clock: Clock;
  readonly max: number;
  readonly onChange: (size: number) => void;
  /** Hears of refused calls, at most every 10 s. */
  readonly onRefused: (refused: number) => void;
}

/**
 * A bound on the calls in work: what waits for a slow store holds memory, and answers that come too late help nobody.
 * Beyond it calls are refused at once, so that clients try again elsewhere or later.
 */
export const createInFlight = ({ clock, max, onChange, onRefused }: InFlightOptions): InFlight => {
  let size = 0;
  let refused = 0;
  let toldAt = Number.NEGATIVE_INFINITY;

  const refuse = (): never => {
    refused++;
    const now = clock.monotonic();
    if (now - toldAt >= TELL_EVERY_MS) {
      onRefused(refused);
      refused = 0;
      toldAt = now;
    }
    throw new ServiceError("service_unavailable", "Too many calls are in work. Try again shortly.");
  };

  return {
    enter: () => {
      if (size >= max) refuse();
      onChange(++size);
    },
    leave: () => onChange(--size),
  };
};
