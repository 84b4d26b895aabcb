import { useEffect, useRef, useState } from "preact/hooks";
import type { CallError } from "../calls/callError.ts";
import { retryDelay } from "../calls/retryDelay.ts";

/** Retries what failed, with growing pauses while it keeps failing. @returns seconds left before the next attempt */
export const useRetry = (error: CallError, retry: () => void): number => {
  const failures = useRef(0);
  const [left, setLeft] = useState(error.retryAfter);
  useEffect(() => {
    failures.current += 1;
    const delay = retryDelay(failures.current, error.retryAfter);
    setLeft(delay);
    const countdown = setInterval(() => setLeft((seconds) => Math.max(0, seconds - 1)), 1000);
    const attempt = setTimeout(retry, delay * 1000);
    return () => {
      clearInterval(countdown);
      clearTimeout(attempt);
    };
    // A new failure starts a new wait. `retry` is not a dependency: it is a new function on each render.
  }, [error]);
  return left;
};
