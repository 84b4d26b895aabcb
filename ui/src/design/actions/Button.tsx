import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick?: (event: MouseEvent) => void;
  /** `primary`: the one action of a form or page; `danger`: takes something away for good; `plain`: without a frame. */
  readonly kind?: "primary" | "danger" | "plain";
  readonly type?: "button" | "submit";
  /** Works on it: it cannot be pressed again. */
  readonly pending?: boolean;
  /** Why the button is disabled: usually a missing permission. It stays in the tab order, so that keyboard users can read the reason. */
  readonly disabledBecause?: string | undefined;
  /** Where the visible text is not enough: "Delete api_1". It has to begin with the visible text. */
  readonly label?: string;
  readonly autofocus?: boolean;
}

/** A button. One that is out of reach is greyed and says why. */
export const Button = ({
  children,
  onClick,
  kind,
  type = "button",
  pending = false,
  disabledBecause,
  label,
  autofocus,
}: ButtonProps): JSX.Element => {
  const reason = useId();
  const off = pending || disabledBecause !== undefined;
  return (
    <>
      <button
        type={type}
        class={`button ${kind ?? ""}`}
        aria-disabled={off ? "true" : undefined}
        aria-busy={pending ? "true" : undefined}
        aria-describedby={disabledBecause === undefined ? undefined : reason}
        aria-label={label}
        title={disabledBecause}
        data-autofocus={autofocus === true ? "" : undefined}
        onClick={(event) => {
          if (!off) return onClick?.(event);
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        {children}
      </button>
      {disabledBecause !== undefined && (
        <span id={reason} class="visually-hidden">
          {disabledBecause}
        </span>
      )}
    </>
  );
};
