import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { guardLeaving } from "../../router/leaveGuards.ts";
import { Button } from "../actions/Button.tsx";
import { CopyButton } from "../actions/CopyButton.tsx";
import { Dialog } from "./Dialog.tsx";

export interface SecretProps {
  /** "The new key". */
  readonly title: string;
  /** Wiped from here when the dialog closes; the caller forgets it in `onClose`. */
  readonly secret: string;
  readonly onClose: () => void;
  /** It is stored, encrypted: leaving it uncopied loses nothing. */
  readonly again?: boolean;
}

/** As many dots for every secret: their number says nothing. */
const mask = "•".repeat(24);

const question = "The secret was not copied, and it is not shown again. Close anyway?";

/** Shows a secret once: masked until revealed, and leaving it uncopied warns (console §2.9). */
export const Secret = ({ title, secret, onClose, again = false }: SecretProps): JSX.Element => {
  const shown = useRef<HTMLElement>(null);
  const [revealed, setRevealed] = useState(false);
  const [copied, setCopied] = useState(false);
  const selectAfter = useRef(false);
  const mayLeave = copied || again;
  useEffect(() => (mayLeave ? undefined : guardLeaving(question)), [mayLeave]);
  return (
    <Dialog title={title} onClose={onClose} mayClose={() => mayLeave || confirm(question)}>
      <p>
        {again
          ? "Copy it to the place where it is used."
          : "This is the only time that it is shown. Copy it to the place where it is used."}
      </p>
      <div class="secret">
        <code ref={shown}>{revealed ? secret : mask}</code>
        <Button onClick={() => setRevealed(!revealed)}>{revealed ? "Hide" : "Reveal"}</Button>
        <CopyButton
          text={() => secret}
          // Selecting dots would copy dots.
          shownIn={() => {
            if (!revealed) {
              selectAfter.current = true;
              setRevealed(true);
            }
            return shown.current;
          }}
          onCopied={() => {
            setCopied(true);
            if (!selectAfter.current) return;
            selectAfter.current = false;
            requestAnimationFrame(() => shown.current && getSelection()?.selectAllChildren(shown.current));
          }}
        />
      </div>
    </Dialog>
  );
};
