import type { JSX } from "preact";
import { Button } from "../actions/Button.tsx";
import { type Change, Diff } from "../values/Diff.tsx";
import { Dialog } from "./Dialog.tsx";

export interface ConflictProps {
  /** `before`: as stored by the other editor; `after`: as in the form. */
  readonly changes: readonly Change[];
  /** Takes the stored version and restarts the form. */
  readonly onTakeStored: () => void;
  /** Keeps the form, on top of the stored version. */
  readonly onKeepMine: () => void;
}

/** The object has changed since it was shown (412 by If-Match): shows both versions, and the person decides (console §3). */
export const Conflict = ({ changes, onTakeStored, onKeepMine }: ConflictProps): JSX.Element => (
  <Dialog title="Changed meanwhile" onClose={onTakeStored}>
    <p>This has changed since you opened it. Nothing was overwritten. Take the stored version, or review your changes on top of it.</p>
    <Diff changes={changes} headings={["Stored now", "Yours"]} />
    <div class="actions">
      <Button onClick={onTakeStored} autofocus>
        Take the stored version
      </Button>
      <Button onClick={onKeepMine}>Keep mine and review</Button>
    </div>
  </Dialog>
);
