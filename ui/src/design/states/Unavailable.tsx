import type { JSX } from "preact";
import type { CallError } from "../../data/calls/callError.ts";
import { useRetry } from "../../data/hooks/useRetry.ts";
import { Button } from "../actions/Button.tsx";

/** The service cannot answer now: retries, and counts down to the next attempt. The data below is old. */
export const Unavailable = ({ error, onRetry }: { readonly error: CallError; readonly onRetry: () => void }): JSX.Element => {
  const left = useRetry(error, onRetry);
  return (
    <div class="note warning" role="status">
      <p>
        {error.kind === "network" ? (
          <strong>The service does not answer.</strong>
        ) : (
          <>
            <strong>{error.title}.</strong> {error.message}
          </>
        )}{" "}
        Retrying… <span aria-hidden="true">{left === 0 ? "" : `in ${left} s`}</span>
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
