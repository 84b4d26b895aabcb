import type { JSX } from "preact";

/** Says what a search over all pages left out, by the messages that name the missing permissions. */
export const NotSearched = ({ forbidden }: { readonly forbidden: readonly string[] }): JSX.Element | null =>
  forbidden.length === 0 ? null : <p class="quiet">Not everything was searched. {forbidden.join(" ")}</p>;
