import type { Clock } from "../base/clock.ts";
import type { StoreLog } from "./port/storeLog.ts";
import type { StoreClock } from "./storeClock.ts";

/** A machine whose clock is so far off, in milliseconds, is worth a line in the log: certificates, logs and other programs go by it. */
const WORTH_TELLING_MS = 1_000;

/**
 * Says in the log when this machine's clock begins to differ from a server's, and when it no longer does. To be called after each
 * look. @param whose the server, as the line names it. @param effect what goes by the server's clock
 */
export const tellDifference = (
  clock: StoreClock,
  local: Clock,
  log: StoreLog | undefined,
  { whose, effect }: { readonly whose: string; readonly effect: string },
): (() => void) => {
  let differs = false;
  return () => {
    const offset = clock.now() - local.now();
    if (Math.abs(offset) > WORTH_TELLING_MS + clock.uncertainty() === differs) return;
    differs = !differs;
    const facts = { seconds: offset / 1000 };
    if (differs) log?.warn(facts, `this machine's clock differs from ${whose}, ${effect}`);
    else log?.info(facts, `this machine's clock agrees with ${whose} again`);
  };
};
