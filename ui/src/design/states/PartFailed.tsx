import type { JSX } from "preact";
import { EmptyState } from "./EmptyState.tsx";

/** In the place of a page, a tab or a dialog that could not be loaded, also after the page was loaded again (console §1). */
export const PartFailed = (): JSX.Element => (
  <EmptyState>A part of this page could not be loaded. Check the connection and reload.</EmptyState>
);
