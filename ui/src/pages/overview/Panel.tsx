import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

export interface PanelProps {
  readonly title: string;
  /** Beside the title. */
  readonly actions?: ComponentChildren;
  /** All of the page's width. */
  readonly wide?: true;
  readonly children: ComponentChildren;
}

/** One of the things that the overview shows. */
export const Panel = ({ title, actions, wide, children }: PanelProps): JSX.Element => {
  const id = useId();
  return (
    <section class={wide === true ? "panel wide" : "panel"} aria-labelledby={id}>
      <header class="panel-header">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
};
