import type { JSX } from "preact";
import { person } from "../../data/access/sessionState.ts";
import type { CallError } from "../../data/calls/callError.ts";

/** A page that the session may not see: the message of the service names the permission (protocol §8). */
export const Forbidden = ({ error }: { readonly error: CallError }): JSX.Element => (
  <div class="note">
    <h2>Not permitted</h2>
    <p>{error.message}</p>
    <p class="quiet">
      {person.value === undefined
        ? "Somebody who manages root keys can grant it."
        : "Whoever runs this service maps people to permissions."}{" "}
      Request <code>{error.requestId}</code>
    </p>
  </div>
);
