import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { CallError } from "../../data/calls/callError.ts";
import { useSecondsLeft } from "../../data/hooks/useSecondsLeft.ts";
import { Button } from "../actions/Button.tsx";

/** The service cannot answer now: counts down to the next attempt. What stands below it is old. */
export const Unavailable = ({ error, onRetry }: { readonly error: CallError; readonly onRetry: () => void }): JSX.Element => {
  const left = useSecondsLeft(error);
  useEffect(() => {
    const retry = setTimeout(onRetry, error.retryAfter * 1000);
    return () => clearTimeout(retry);
    // A new failure is a new wait; `onRetry` is made anew at each render.
  }, [error]);
  return (
    <div class="note warning" role="status">
      <p>
        <strong>{error.title}.</strong> {error.message} <span aria-hidden="true">Trying again {left === 0 ? "now" : `in ${left} s`}.</span>
      </p>
      {error.requestId !== "" && (
        <p class="quiet">
          Request <code>{error.requestId}</code>
        </p>
      )}
      <Button onClick={onRetry}>Try now</Button>
    </div>
  );
};
