import { setTimeout as sleep } from "node:timers/promises";
import { type BackfillOptions, createBackfill, dueBackfill } from "./backfill.ts";

/** Between two questions whether another process has finished it, in milliseconds. */
const ASK_EVERY_MS = 500;

/**
 * Ends the walk of `createBackfill` as far as it is due now, and goes on where it was interrupted. While another process is at it, a
 * node in the background or one that was killed in the last ten seconds, it waits for that one.
 * @param onWait is told each time that it has to wait.
 * @returns whether another pass follows, later
 */
export const finishBackfill = async (
  options: Omit<BackfillOptions, "isAwaited" | "onError">,
  onWait: () => void,
): Promise<{ readonly isOver: boolean }> => {
  const backfill = createBackfill({ ...options, isAwaited: true });
  const due = async () => dueBackfill(await options.backfills.find(), options, options.clock.now());
  try {
    for (;;) {
      await backfill.run();
      const left = await due();
      if (typeof left === "string") return { isOver: left === "never" };
      onWait();
      await sleep(ASK_EVERY_MS);
    }
  } finally {
    await backfill.stop();
  }
};
