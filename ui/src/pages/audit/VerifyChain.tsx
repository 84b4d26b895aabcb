import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { AuditService } from "../../../../gen/latchkey/v2/audit_pb.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { ErrorNote } from "../../design/states/ErrorNote.tsx";
import { Int64 } from "../../design/values/Int64.tsx";
import { Time } from "../../design/values/Time.tsx";
import { type ChainCheck, useChainCheck } from "./useChainCheck.ts";

const Verdict = ({ check: { state, checked, head, broken, dropped } }: { readonly check: ChainCheck }): JSX.Element => (
  <>
    <div role="status">
      {state === "stopped" && (
        <p>
          Stopped after <Int64 value={checked} /> entries, all of which are intact.
        </p>
      )}
      {state === "intact" && (
        <p>
          <span aria-hidden="true">✓ </span>
          <strong>The chain is intact:</strong> <Int64 value={checked} /> entries are unchanged.
        </p>
      )}
      {state === "broken" && (
        <div class="note error">
          <p>
            <span aria-hidden="true">✕ </span>
            <strong>The chain is broken</strong> at entry <Int64 value={broken?.sequence ?? 0n} />.
          </p>
          <p>
            Expected <code>{broken?.expected}</code>, found <code>{broken?.found}</code>.
          </p>
        </div>
      )}
    </div>
    {dropped !== undefined && (
      <p class="quiet">
        Entries up to <Int64 value={dropped.sequence} /> were dropped because of their age (<Time at={Date.parse(dropped.time)} />
        ); the chain continues after them.
      </p>
    )}
    {state === "intact" && head !== undefined && (
      <p class="quiet">
        Newest entry: <Int64 value={head.sequence} />, hash <code>{head.hash}</code>. Kept elsewhere, it shows when the end of the log was
        cut off.
      </p>
    )}
  </>
);

/** Checks that nothing in the log was changed or taken out (management §4). */
export const VerifyChain = ({ onClose }: { readonly onClose: () => void }): JSX.Element => {
  const { check, start, stop } = useChainCheck();
  const running = check?.state === "running";
  useEffect(() => void start(), []);
  return (
    <Dialog title="Verify the chain" onClose={onClose}>
      <p>Each entry holds the hash of the one before it. Changing or removing an entry breaks the chain.</p>
      {running && (
        <p>
          <label class="chain-progress">
            <span>
              <Int64 value={check.checked} /> of <Int64 value={check.head?.sequence ?? 0n} /> entries
            </span>
            <progress max={Number(check.head?.sequence ?? 1n)} value={Number(check.checked)} />
          </label>
        </p>
      )}
      {check !== undefined && <Verdict check={check} />}
      {check?.error !== undefined && <ErrorNote error={check.error} />}
      <div class="actions">
        {running ? <Button onClick={stop}>Stop</Button> : <Button onClick={() => void start()}>Verify again</Button>}
        <CodeDrawer method={AuditService.method.verifyChain} request={{}} />
      </div>
    </Dialog>
  );
};
