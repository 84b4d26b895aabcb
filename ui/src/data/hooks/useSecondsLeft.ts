import { useEffect, useState } from "preact/hooks";
import type { CallError } from "../calls/callError.ts";

/** Counts down the seconds until a failed call may be repeated. A new failure starts a new countdown. 0: now, or no call failed. */
export const useSecondsLeft = (error: CallError | undefined): number => {
  const [counted, setCounted] = useState<{ readonly of: CallError | undefined; readonly left: number }>({ of: undefined, left: 0 });
  useEffect(() => {
    if (error === undefined) return;
    setCounted({ of: error, left: error.retryAfter });
    const timer = setInterval(() => setCounted(({ of, left }) => ({ of, left: Math.max(0, left - 1) })), 1000);
    return () => clearInterval(timer);
  }, [error]);
  return counted.of === error ? counted.left : (error?.retryAfter ?? 0);
};
