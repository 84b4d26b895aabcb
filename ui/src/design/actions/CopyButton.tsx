import type { JSX } from "preact";
import { announce } from "../states/announcements.ts";
import { Button } from "./Button.tsx";

export interface CopyButtonProps {
  /** Read when it is pressed. */
  readonly text: () => string;
  /** The element that shows the text: it is selected where the browser does not let a page copy. */
  readonly shownIn: () => HTMLElement | null;
  readonly onCopied?: () => void;
}

/** Copies a text; selects it for the person to copy where that is refused (console §2.9). */
export const CopyButton = ({ text, shownIn, onCopied }: CopyButtonProps): JSX.Element => {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text());
      announce("Copied.");
    } catch {
      const element = shownIn();
      if (element !== null) getSelection()?.selectAllChildren(element);
      announce("The text is selected: copy it with your keyboard.");
    }
    onCopied?.();
  };
  return <Button onClick={() => void copy()}>Copy</Button>;
};
