import type { ComponentChildren, JSX } from "preact";
import { useContext } from "preact/hooks";
import { lacks } from "../../data/access/unseen.ts";
import { UnseenRows } from "./unseenRows.ts";

/** One sentence where there are no rows: that there are none, or that the session may not see all and which permission it lacks. */
export const NoRows = ({ children }: { readonly children: ComponentChildren }): JSX.Element => {
  const unseen = useContext(UnseenRows);
  return <p class="quiet">{unseen.permissions.length === 0 ? children : `Nothing that your session may see: it ${lacks(unseen)}.`}</p>;
};
