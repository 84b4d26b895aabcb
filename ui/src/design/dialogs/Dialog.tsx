import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../actions/Button.tsx";
import { LiveRegion } from "../states/LiveRegion.tsx";

export interface DialogProps {
  readonly title: string;
  /** It is there only while it is open: mounted means open. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** Asked before it closes; false keeps it open. */
  readonly mayClose?: () => boolean;
  /** `side`: a drawer at the edge of the window. */
  readonly place?: "middle" | "side";
}

/**
 * A modal dialog: native `<dialog>`, so that the page behind is inert and Escape closes it. The focus goes to the element with
 * `data-autofocus`, or the first one, and afterwards back to where it was.
 */
export const Dialog = ({ title, onClose, children, mayClose = () => true, place = "middle" }: DialogProps): JSX.Element => {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // A layout effect, since one that runs later finds the dialog before this one, which has just gone, still holding the focus.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    element?.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    return () => {
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      else document.querySelector<HTMLElement>("main h1")?.focus();
    };
  }, []);
  const close = (): void => {
    if (mayClose()) onClose();
  };
  return (
    <dialog
      ref={dialog}
      class={`dialog ${place}`}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      <header class="dialog-header">
        <h2 id={heading}>{title}</h2>
        <Button kind="plain" onClick={close}>
          Close
        </Button>
      </header>
      <div class="dialog-body">{children}</div>
      {/* The one of the page is inert behind the dialog. */}
      <LiveRegion />
    </dialog>
  );
};
