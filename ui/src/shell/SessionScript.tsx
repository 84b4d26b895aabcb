import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { callLog } from "../data/calls/callLog.ts";
import { script } from "../data/code/snippets.ts";
import { CopyButton } from "../design/actions/CopyButton.tsx";
import { Dialog } from "../design/dialogs/Dialog.tsx";
import { CodeBlock } from "../design/values/CodeBlock.tsx";

/** The changes of this session as a script (console §3). Failed calls are left out. */
export const SessionScript = ({ onClose }: { readonly onClose: () => void }): JSX.Element => {
  const code = useRef<HTMLElement>(null);
  const calls = callLog.value.filter(({ succeeded }) => succeeded);
  const text = script(calls, location.origin);
  return (
    <Dialog title="This session as a script" onClose={onClose} place="side">
      {calls.length === 0 ? (
        <p>Nothing has been changed yet since this page was opened.</p>
      ) : (
        <>
          <CodeBlock label="Script" text={text} codeRef={code} />
          <div class="actions">
            <CopyButton text={() => text} shownIn={() => code.current} />
          </div>
        </>
      )}
    </Dialog>
  );
};
