import type { JSX } from "preact";
import { type RootKey, RootKeysService } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { Button } from "../../design/actions/Button.tsx";
import { unshrinkable } from "./rootKeyText.ts";

const { updateKey, rerollKey, deleteKey } = RootKeysService.method;

/** The actions on a root key. */
export type RootKeyAction = "edit" | "shrink" | "reroll" | "revoke";

export interface RootKeyActionsProps {
  readonly rootKey: RootKey;
  readonly onAction: (action: RootKeyAction) => void;
  /** Also what is greyed because there is nothing to shrink. */
  readonly all?: boolean;
}

/** The buttons of a root key. */
export const RootKeyActions = ({ rootKey, onAction, all = false }: RootKeyActionsProps): JSX.Element => {
  const ids = { key_id: rootKey.keyId };
  const updating = missingReason(updateKey, ids);
  const shrinking = unshrinkable(rootKey);
  return (
    <div class="actions">
      <Button onClick={() => onAction("edit")} disabledBecause={updating}>
        Edit
      </Button>
      {(all || shrinking === undefined) && (
        <Button onClick={() => onAction("shrink")} disabledBecause={updating ?? shrinking}>
          Shrink
        </Button>
      )}
      <Button onClick={() => onAction("reroll")} disabledBecause={missingReason(rerollKey, ids)}>
        Reroll
      </Button>
      <Button kind="danger" onClick={() => onAction("revoke")} disabledBecause={missingReason(deleteKey, ids)}>
        Revoke
      </Button>
    </div>
  );
};
