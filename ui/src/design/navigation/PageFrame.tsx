import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";

export interface PageFrameProps {
  readonly title: string;
  /** Above the title: where the page hangs. */
  readonly parent?: { readonly href: string; readonly label: string };
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Heading, actions and content of a page; the document has its title. */
export const PageFrame = ({ title, parent, actions, children }: PageFrameProps): JSX.Element => {
  useEffect(() => {
    document.title = `${title} · Latchkey`;
  }, [title]);
  return (
    <>
      <header class="page-header">
        <div>
          {parent !== undefined && (
            <p class="quiet">
              <a href={parent.href}>{parent.label}</a>
            </p>
          )}
          <h1 tabIndex={-1}>{title}</h1>
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
};
