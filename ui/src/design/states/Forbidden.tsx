import type { JSX } from "preact";
import { person } from "../../data/access/sessionState.ts";

export interface ForbiddenProps {
  /** Names the permission: the service's message (protocol §8), or the console's own. */
  readonly message: string;
  /** Id of the refused call, if there was one. */
  readonly requestId?: string;
}

/** Replaces what the session may not see. */
export const Forbidden = ({ message, requestId = "" }: ForbiddenProps): JSX.Element => (
  <div class="note">
    <h2>Not permitted</h2>
    <p>{message}</p>
    <p class="quiet">
      {person.value === undefined
        ? "Ask a person who manages root keys to grant it."
        : "Ask the operator of this service to map your account to it."}
      {requestId !== "" && (
        <>
          {" "}
          Request <code>{requestId}</code>
        </>
      )}
    </p>
  </div>
);
