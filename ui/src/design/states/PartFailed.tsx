import type { JSX } from "preact";
import type { CallError } from "../../data/calls/callError.ts";
import { Unavailable } from "./Unavailable.tsx";

export interface PartFailedProps {
  readonly error: CallError;
  readonly onRetry: () => void;
}

/** Replaces a page, a tab or a dialog that could not be loaded: waits for the service, or says so where it answers (console §1). */
export const PartFailed = ({ error, onRetry }: PartFailedProps): JSX.Element =>
  error.kind === "network" ? (
    <Unavailable error={error} onRetry={onRetry} />
  ) : (
    <div class="empty">
      <p>A part of this page could not be loaded. Check the connection and reload.</p>
    </div>
  );
