import { systemClock } from "../../base/clock.ts";
import { StoreUnavailableError } from "../port/errors.ts";

/** How often those that never end are looked for, in milliseconds. */
const LOOK_INTERVAL = 1_000;

/** What the driver is asked for. */
export interface Operations {
  /** Runs it, unless `end` was called. @param patience its own instead of the usual one, in milliseconds. */
  readonly run: <T>(operation: () => Promise<T>, patience?: number) => Promise<T>;
  /** How many were given up since `forget`: each still has a connection of the driver's pool. */
  readonly givenUp: () => number;
  readonly forget: () => void;
  /** No more are begun; resolves when none runs. */
  readonly end: () => Promise<void>;
}

interface Running {
  readonly until: number;
  readonly giveUp: (error: StoreUnavailableError) => void;
}

/**
 * Keeps track of operations, for two reasons. The driver would cut off what runs when it is closed. And it may never
 * settle one that it sends in the instant in which its socket breaks: it waits for that socket to drain (`writeCommand`
 * of its connections), and no timeout of its own ends that.
 * @param patience milliseconds after which an operation is given up, far above all timeouts of the driver.
 */
export const createOperations = (patience: number): Operations => {
  const running = new Set<Running>();
  let looking: NodeJS.Timeout | undefined;
  let ended = false;
  let givenUp = 0;
  let idle: (() => void) | undefined;

  const look = (): void => {
    const now = systemClock.monotonic();
    for (const { until, giveUp } of running) {
      if (until > now) continue;
      givenUp++;
      giveUp(new StoreUnavailableError("the store's driver never answered", { outcomeUnknown: true }));
    }
  };

  const leave = (each: Running): void => {
    running.delete(each);
    if (running.size > 0 || !ended) return;
    clearInterval(looking);
    idle?.();
  };

  return {
    run: async (operation, ownPatience = patience) => {
      if (ended) throw new StoreUnavailableError("the store is closed");
      looking ??= setInterval(look, LOOK_INTERVAL).unref();
      const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>();
      const each = { until: systemClock.monotonic() + ownPatience, giveUp };
      running.add(each);
      try {
        return await Promise.race([operation(), givenUp]);
      } finally {
        leave(each);
      }
    },
    givenUp: () => givenUp,
    forget: () => {
      givenUp = 0;
    },
    end: async () => {
      ended = true;
      if (running.size === 0) {
        clearInterval(looking);
        return;
      }
      await new Promise<void>((resolve) => {
        idle = resolve;
      });
    },
  };
};
