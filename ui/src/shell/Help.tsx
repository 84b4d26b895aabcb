import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../design/dialogs/Dialog.tsx";
import { KeyboardTable } from "../design/values/KeyboardTable.tsx";

/** `?`: what the keyboard does, and where all else is explained, if this service has its documentation on. */
export const Help = ({ onClose }: { readonly onClose: () => void }): JSX.Element => {
  const [isDocumented, setDocumented] = useState(false);
  useEffect(() => {
    fetch("/docs", { method: "HEAD" }).then(
      ({ ok }) => setDocumented(ok),
      () => undefined,
    );
  }, []);
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <KeyboardTable />
      {isDocumented && (
        <p>
          Everything else is in the{" "}
          <a href="/docs" target="_blank" rel="noreferrer">
            documentation
          </a>
          .
        </p>
      )}
    </Dialog>
  );
};
