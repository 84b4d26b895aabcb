import type { ComponentChildren, JSX } from "preact";
import { useContext } from "preact/hooks";
import { CodeBlock } from "../values/CodeBlock.tsx";
import { NoRows } from "./NoRows.tsx";
import { UnseenRows } from "./unseenRows.ts";

export interface EmptyStateProps {
  /** One sentence: "No APIs yet." */
  readonly children: ComponentChildren;
  /** A button that leads on. */
  readonly action?: ComponentChildren;
  /** As a command. */
  readonly code?: string;
}

/** A list without rows: a sentence, a button, the curl line (console §3). A session that may not see all rows reads that instead. */
export const EmptyState = ({ children, action, code }: EmptyStateProps): JSX.Element => {
  const seesAll = useContext(UnseenRows).permissions.length === 0;
  return (
    <div class="empty">
      {seesAll ? <p>{children}</p> : <NoRows>{children}</NoRows>}
      {seesAll && action}
      {seesAll && code !== undefined && <CodeBlock label="As a command" text={code} />}
    </div>
  );
};
