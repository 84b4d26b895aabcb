import type { JSX } from "preact";
import { Button } from "../actions/Button.tsx";
import { type Change, Diff } from "../values/Diff.tsx";
import { Dialog } from "./Dialog.tsx";

export interface ConflictProps {
  /** `before`: as somebody else left it; `after`: as the form has it. */
  readonly changes: readonly Change[];
  /** Takes the stored version; the form begins anew. */
  readonly onTakeStored: () => void;
  /** Goes on with the form over the stored version. */
  readonly onKeepMine: () => void;
}

/** Somebody changed the object since it was shown (412 by If-Match): both versions, and the person decides (console §3). */
export const Conflict = ({ changes, onTakeStored, onKeepMine }: ConflictProps): JSX.Element => (
  <Dialog title="Changed meanwhile" onClose={onTakeStored}>
    <p>Somebody changed this since you opened it. Nothing was overwritten.</p>
    <Diff changes={changes} headings={["Stored now", "Yours"]} />
    <div class="actions">
      <Button onClick={onTakeStored} autofocus>
        Take the stored version
      </Button>
      <Button onClick={onKeepMine}>Keep mine and review</Button>
    </div>
  </Dialog>
);
