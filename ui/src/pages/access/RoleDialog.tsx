import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Role } from "../../../../gen/latchkey/v2/common_pb.ts";
import { PermissionsService } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { ConfirmName } from "../../design/dialogs/ConfirmName.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { announce } from "../../design/states/announcements.ts";
import { QueryView } from "../../design/states/QueryView.tsx";
import { EditRole, EditRolePermissions } from "./EditRole.tsx";
import { RoleMembers } from "./RoleMembers.tsx";
import { Slugs } from "./Slugs.tsx";

const { getRole, updateRole, setRolePermissions, deleteRole } = PermissionsService.method;

interface DeleteRoleProps {
  readonly role: Role;
  readonly etag: string | undefined;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}

const DeleteRole = ({ role, etag, onDeleted, onClose }: DeleteRoleProps): JSX.Element => {
  const remove = useMutation(deleteRole);
  const confirm = async (): Promise<void> => {
    // Closed first: the dialog behind would read a role that is gone.
    if ((await remove.run({ role: role.id }, etag)) === undefined) return;
    announce(`Deleted ${role.name}.`);
    onDeleted();
  };
  return (
    <ConfirmName
      title="Delete role"
      name={role.name}
      action="Delete"
      pending={remove.pending}
      error={remove.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>Every key with this role loses the permissions that only this role grants, at once. The permissions themselves stay.</p>
    </ConfirmName>
  );
};

/** A role: what it gives, which keys have it, and what is done to it. */
export const RoleDialog = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }): JSX.Element => {
  const [doing, setDoing] = useState<"edit" | "permissions" | "delete">();
  const query = useQuery(getRole, { role: id });
  const done = (): void => setDoing(undefined);
  return (
    <Dialog title={query.data?.data?.name ?? id} onClose={onClose} place="side">
      <QueryView query={query}>
        {({ data: role }) =>
          role !== undefined && (
            <>
              <p>{role.description ?? <span class="quiet">No description.</span>}</p>
              <div class="actions">
                <Button onClick={() => setDoing("edit")} disabledBecause={missingReason(updateRole, {})}>
                  Edit
                </Button>
                <Button onClick={() => setDoing("permissions")} disabledBecause={missingReason(setRolePermissions, {})}>
                  Set permissions
                </Button>
                <Button kind="danger" onClick={() => setDoing("delete")} disabledBecause={missingReason(deleteRole, {})}>
                  Delete
                </Button>
                <CodeDrawer method={getRole} request={{ role: role.name }} />
              </div>
              <h3>Permissions</h3>
              {role.permissions.length === 0 ? (
                <p class="quiet">It gives none.</p>
              ) : (
                <Slugs label="Permissions" slugs={role.permissions.map(({ slug }) => slug)} />
              )}
              <RoleMembers role={role.name} />
              {doing === "edit" && <EditRole role={role} etag={query.etag} reload={query.reload} onClose={done} />}
              {doing === "permissions" && <EditRolePermissions role={role} etag={query.etag} reload={query.reload} onClose={done} />}
              {doing === "delete" && <DeleteRole role={role} etag={query.etag} onDeleted={onClose} onClose={done} />}
            </>
          )
        }
      </QueryView>
    </Dialog>
  );
};
