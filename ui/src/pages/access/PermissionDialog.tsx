import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Permission } from "../../../../gen/latchkey/v2/common_pb.ts";
import { PermissionsService } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { ConfirmName } from "../../design/dialogs/ConfirmName.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { ReviewedForm } from "../../design/dialogs/ReviewedForm.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { announce } from "../../design/states/announcements.ts";
import { QueryView } from "../../design/states/QueryView.tsx";
import { DescriptionField } from "./DescriptionField.tsx";
import { permissionChanges, permissionDraftOf, permissionRequest } from "./roleDraft.ts";
import { holdersHref } from "./Slugs.tsx";

const { getPermission, updatePermission, deletePermission } = PermissionsService.method;

interface DeletePermissionProps {
  readonly permission: Permission;
  readonly etag: string | undefined;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}

const DeletePermission = ({ permission, etag, onDeleted, onClose }: DeletePermissionProps): JSX.Element => {
  const remove = useMutation(deletePermission);
  const confirm = async (): Promise<void> => {
    if ((await remove.run({ permission: permission.id }, etag)) === undefined) return;
    announce(`Deleted ${permission.slug}.`);
    onDeleted();
  };
  return (
    <ConfirmName
      title="Delete permission"
      name={permission.slug}
      action="Delete"
      pending={remove.pending}
      error={remove.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        It is taken from every key and role at once. Creating it again gives it back to none.{" "}
        <a href={holdersHref(permission.slug)}>Who holds it?</a>
      </p>
    </ConfirmName>
  );
};

/** A permission, to be changed or deleted. */
export const PermissionDialog = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }): JSX.Element => {
  const [deleting, setDeleting] = useState(false);
  const query = useQuery(getPermission, { permission: id });
  return (
    <Dialog title={`Edit ${query.data?.data?.slug ?? id}`} onClose={onClose} place="side">
      <QueryView query={query}>
        {({ data: permission }) =>
          permission !== undefined && (
            <>
              <ReviewedForm
                method={updatePermission}
                stored={permission}
                etag={query.etag}
                reload={query.reload}
                draftOf={permissionDraftOf}
                changesOf={permissionChanges}
                requestOf={permissionRequest}
                fields={["name", "slug", "description"]}
                disabledBecause={() => missingReason(updatePermission, {})}
              >
                {(draft, set, stored) => (
                  <>
                    <TextField label="Name" name="name" value={draft.name} onChange={(name) => set({ name })} required />
                    <TextField
                      label="Slug"
                      name="slug"
                      value={draft.slug}
                      onChange={(slug) => set({ slug })}
                      hint="Keys and roles keep it under its new slug; code that asks for the old one is refused."
                      required
                    />
                    <DescriptionField
                      stored={stored.description}
                      change={draft.description}
                      onChange={(description) => set({ description })}
                    />
                  </>
                )}
              </ReviewedForm>
              <div class="actions section">
                <a href={holdersHref(permission.slug)}>Who holds it?</a>
                <Button kind="danger" onClick={() => setDeleting(true)} disabledBecause={missingReason(deletePermission, {})}>
                  Delete
                </Button>
                <CodeDrawer method={deletePermission} request={{ permission: permission.id }} />
              </div>
              {deleting && (
                <DeletePermission permission={permission} etag={query.etag} onDeleted={onClose} onClose={() => setDeleting(false)} />
              )}
            </>
          )
        }
      </QueryView>
    </Dialog>
  );
};
