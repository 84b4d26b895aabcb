import type { JSX } from "preact";
import { Dialog } from "../design/dialogs/Dialog.tsx";
import { KeyboardTable } from "../design/values/KeyboardTable.tsx";

/** `?`: what the keyboard does. */
export const Help = ({ onClose }: { readonly onClose: () => void }): JSX.Element => (
  <Dialog title="Keyboard" onClose={onClose}>
    <KeyboardTable />
  </Dialog>
);
