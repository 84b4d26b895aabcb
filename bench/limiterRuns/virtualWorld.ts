import type { Clock } from "../../src/platform/base/clock.ts";

interface Happening {
  readonly at: number;
  readonly order: number;
  readonly happen: () => void;
}

/** Time that passes only when it is told to, much faster than the real one. */
export interface VirtualWorld {
  readonly clock: Clock;
  /** Resolves so many milliseconds from now. */
  readonly elapse: (milliseconds: number) => Promise<void>;
  /** Lets everything happen that is due until then (Unix ms), in order; it is that time afterwards. */
  readonly passUntil: (time: number) => Promise<void>;
  /** Lets everything happen that follows from what happened now, without any time passing. */
  readonly settle: () => Promise<void>;
}

const isBefore = (a: Happening, b: Happening): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

export const createVirtualWorld = (start: number): VirtualWorld => {
  let now = start;
  let orders = 0;
  // In order of time. New ones are nearly always among the last: few things are on their way at once.
  const coming: Happening[] = [];
  // Timers and input run after all that promises do.
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  return {
    clock: { now: () => Math.floor(now), monotonic: () => now - start },
    elapse: (milliseconds) =>
      new Promise((resolve) => {
        const happening: Happening = { at: now + milliseconds, order: orders++, happen: resolve };
        let place = coming.length;
        while (place > 0 && isBefore(happening, coming[place - 1] as Happening)) place--;
        coming.splice(place, 0, happening);
      }),
    passUntil: async (time) => {
      for (let next = coming[0]; next !== undefined && next.at <= time; next = coming[0]) {
        coming.shift();
        now = next.at;
        next.happen();
        await settle();
      }
      now = time;
    },
    settle,
  };
};
