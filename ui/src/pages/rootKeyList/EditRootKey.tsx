import type { JSX } from "preact";
import { type RootKey, RootKeysService } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { expiryProblem } from "../../data/drafts/expiryDraft.ts";
import { localTimeText } from "../../data/readInput.ts";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { ReviewedForm } from "../../design/dialogs/ReviewedForm.tsx";
import { Checkbox } from "../../design/forms/Checkbox.tsx";
import { ExpiryField } from "../../design/forms/ExpiryField.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { ThreeState } from "../../design/forms/ThreeState.tsx";
import { PermissionPicker } from "../../design/permissions/PermissionPicker.tsx";
import { readRootKey } from "./readRootKey.ts";
import { changesOf, draftOf, expiryText, isSame, noName, type RootKeyDraft, requestOf } from "./rootKeyDraft.ts";
import { expiryOf, nameOf, titleOf } from "./rootKeyText.ts";

const { updateKey } = RootKeysService.method;

const problemIn = ({ keyId }: RootKey, { expires, permissions }: RootKeyDraft): string | undefined => {
  const expiry = expires.kind === "set" ? expiryProblem(expires.value, Date.now()) : undefined;
  if (expiry !== undefined) return expiry;
  return permissions.length === 0 ? "A root key holds at least one permission." : missingReason(updateKey, { key_id: keyId });
};

export interface EditRootKeyProps {
  readonly rootKey: RootKey;
  readonly reload: () => void;
  readonly onClose: () => void;
}

/** Changes name, expiry, state and permissions of a root key. */
export const EditRootKey = ({ rootKey, reload, onClose }: EditRootKeyProps): JSX.Element => (
  <Dialog title={`Edit ${titleOf(rootKey)}`} onClose={onClose} place="side">
    <ReviewedForm
      method={updateKey}
      stored={rootKey}
      etag={undefined}
      reload={reload}
      withoutEtag={{ read: () => readRootKey(rootKey.keyId), isSame }}
      draftOf={draftOf}
      changesOf={changesOf}
      requestOf={requestOf}
      fields={["name", "expires", "enabled", "permissions"]}
      disabledBecause={(draft) => problemIn(rootKey, draft)}
      onSaved={onClose}
    >
      {(draft, set, stored) => (
        <>
          <ThreeState
            label="Name"
            name="name"
            change={draft.name}
            onChange={(name) => set({ name })}
            current={nameOf(stored) ?? noName}
            clear="Remove the name"
            initial={nameOf(stored) ?? ""}
          >
            {(value, change) => <TextField label="New name" name="name" value={value} onChange={change} />}
          </ThreeState>
          <ThreeState
            label="Expires"
            name="expires"
            change={draft.expires}
            onChange={(expires) => set({ expires })}
            current={expiryText(stored)}
            clear="Never expires"
            initial={expiryOf(stored) === undefined ? "" : localTimeText(expiryOf(stored) ?? 0n)}
          >
            {(value, change) => <ExpiryField label="Expires at" value={value} onChange={change} hint="In your time zone." />}
          </ThreeState>
          <Checkbox
            label="Enabled"
            name="enabled"
            checked={draft.enabled}
            onChange={(enabled) => set({ enabled })}
            hint="A disabled root key is refused at once, and its console sessions end."
          />
          <PermissionPicker chosen={draft.permissions} onChange={(permissions) => set({ permissions })} />
        </>
      )}
    </ReviewedForm>
  </Dialog>
);
