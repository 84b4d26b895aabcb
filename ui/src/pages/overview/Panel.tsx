import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

export interface PanelProps {
  readonly title: string;
  /** Beside the title. */
  readonly actions?: ComponentChildren;
  /** All of the page's width. */
  readonly wide?: true;
  /** A class of its own. */
  readonly kind?: string;
  readonly children: ComponentChildren;
}

/** One of the things that the overview shows. */
export const Panel = ({ title, actions, wide, kind = "", children }: PanelProps): JSX.Element => {
  const id = useId();
  return (
    <section class={`panel ${wide === true ? "wide" : ""} ${kind}`} aria-labelledby={id}>
      <header class="panel-header">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
};
