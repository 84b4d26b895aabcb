import type { JSX } from "preact";
import { announcements } from "./announcements.ts";

/** The live region: once on the page, always there, so that it is heard. */
export const LiveRegion = (): JSX.Element => (
  <div class="toasts" role="status" aria-live="polite">
    {announcements.value.map(({ id, text }) => (
      <p key={id} class="toast">
        {text}
      </p>
    ))}
  </div>
);
