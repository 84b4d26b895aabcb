import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { PermissionsService } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { readList } from "../../data/readInput.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { announce } from "../../design/states/announcements.ts";

/** Defines a role. */
export const CreateRole = ({ onClose }: { readonly onClose: () => void }): JSX.Element => {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [permissions, setPermissions] = useState("");
  const create = useMutation(PermissionsService.method.createRole);
  const request = { name, description, permissions: readList(permissions) };
  const submit = async (): Promise<void> => {
    if ((await create.run(request)) === undefined) return;
    announce(`Created ${name}.`);
    onClose();
  };
  return (
    <Dialog title="New role" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={create.error}
        fields={["name", "description", "permissions"]}
        actions={
          <>
            <Button kind="primary" type="submit" pending={create.pending}>
              Create role
            </Button>
            <CodeDrawer method={create.method} request={request} />
          </>
        }
      >
        <TextField
          label="Name"
          name="name"
          value={name}
          onChange={setName}
          hint="Unique, regardless of case. Keys are given the role by this name."
          required
          autofocus
        />
        <TextField label="Description" name="description" rows={2} value={description} onChange={setDescription} />
        <TextField
          label="Permissions"
          name="permissions"
          rows={4}
          value={permissions}
          onChange={setPermissions}
          hint="Slugs, one per line: invoices.read, invoices.*. Unknown ones are created."
        />
      </Form>
    </Dialog>
  );
};
