import type { ComponentChildren, JSX } from "preact";
import { CodeBlock } from "../values/CodeBlock.tsx";

export interface EmptyStateProps {
  /** One sentence: "No APIs yet." */
  readonly children: ComponentChildren;
  /** What to do about it. */
  readonly action?: ComponentChildren;
  /** The same as a command. */
  readonly code?: string;
}

/** A list without rows: a sentence, a button, the curl line (console §3). */
export const EmptyState = ({ children, action, code }: EmptyStateProps): JSX.Element => (
  <div class="empty">
    <p>{children}</p>
    {action}
    {code !== undefined && <CodeBlock label="The same as a command" text={code} />}
  </div>
);
