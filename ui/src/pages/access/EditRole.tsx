import type { JSX } from "preact";
import type { Role } from "../../../../gen/latchkey/v2/common_pb.ts";
import { PermissionsService } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { ReviewedForm } from "../../design/dialogs/ReviewedForm.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { DescriptionField } from "./DescriptionField.tsx";
import { grantsChanges, grantsDraftOf, grantsRequest, roleChanges, roleDraftOf, roleRequest } from "./roleDraft.ts";

const { updateRole, setRolePermissions } = PermissionsService.method;

export interface EditRoleProps {
  readonly role: Role;
  readonly etag: string | undefined;
  readonly reload: () => void;
  readonly onClose: () => void;
}

/** Name and description of a role. */
export const EditRole = ({ role, etag, reload, onClose }: EditRoleProps): JSX.Element => (
  <Dialog title="Edit role" onClose={onClose}>
    <ReviewedForm
      method={updateRole}
      stored={role}
      etag={etag}
      reload={reload}
      draftOf={roleDraftOf}
      changesOf={roleChanges}
      requestOf={roleRequest}
      fields={["name", "description"]}
      disabledBecause={() => missingReason(updateRole, {})}
      onSaved={onClose}
    >
      {(draft, set, stored) => (
        <>
          <TextField label="Name" name="name" value={draft.name} onChange={(name) => set({ name })} required autofocus />
          <DescriptionField stored={stored.description} change={draft.description} onChange={(description) => set({ description })} />
        </>
      )}
    </ReviewedForm>
  </Dialog>
);

/** Edits the complete list of permissions of a role. */
export const EditRolePermissions = ({ role, etag, reload, onClose }: EditRoleProps): JSX.Element => (
  <Dialog title={`Permissions of ${role.name}`} onClose={onClose}>
    <ReviewedForm
      method={setRolePermissions}
      stored={role}
      etag={etag}
      reload={reload}
      draftOf={grantsDraftOf}
      changesOf={grantsChanges}
      requestOf={grantsRequest}
      fields={["permissions"]}
      disabledBecause={() => missingReason(setRolePermissions, {})}
      onSaved={onClose}
    >
      {(draft, set) => (
        <TextField
          label="Permissions"
          name="permissions"
          rows={10}
          value={draft.permissions}
          onChange={(permissions) => set({ permissions })}
          hint="Slugs, one per line: the complete list. Unknown ones are created."
          autofocus
        />
      )}
    </ReviewedForm>
  </Dialog>
);
