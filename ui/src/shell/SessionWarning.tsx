import type { JSX } from "preact";
import { renewSession } from "../data/access/session.ts";
import { session } from "../data/access/sessionState.ts";
import { Button } from "../design/actions/Button.tsx";
import { zoneTime } from "../design/values/formatTime.ts";
import { endsSoon } from "./sessionWatch.ts";

/** Two minutes before the session ends: says so, and offers to go on where that is possible. */
export const SessionWarning = (): JSX.Element => {
  const ending = endsSoon.value;
  const current = session.value;
  const final = ending !== undefined && typeof current !== "string" && Number(current.expiresAt) <= ending.at;
  return (
    <div class="session-status" role="status" aria-live="polite">
      {ending !== undefined && (
        <div class="note warning session-warning">
          <p>
            {final ? "This session ends at " : "You will be signed out at "}
            {zoneTime(ending.at)}. <span aria-hidden="true">{ending.secondsLeft} s left.</span>
          </p>
          {!final && <Button onClick={() => void renewSession().catch(() => undefined)}>Stay signed in</Button>}
        </div>
      )}
    </div>
  );
};
