import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { PermissionsService } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { announce } from "../../design/states/announcements.ts";

/** Defines a permission that keys and roles can hold. */
export const CreatePermission = ({ onClose }: { readonly onClose: () => void }): JSX.Element => {
  const [slug, setSlug] = useState("");
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const create = useMutation(PermissionsService.method.createPermission);
  // Most permissions are called as they are written.
  const request = { slug, name: name === "" ? slug : name, description };
  const submit = async (): Promise<void> => {
    if ((await create.run(request)) === undefined) return;
    announce(`Created ${slug}.`);
    onClose();
  };
  return (
    <Dialog title="New permission" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={create.error}
        fields={["slug", "name", "description"]}
        actions={
          <>
            <Button kind="primary" type="submit" pending={create.pending}>
              Create permission
            </Button>
            <CodeDrawer method={create.method} request={request} />
          </>
        }
      >
        <TextField
          label="Slug"
          name="slug"
          value={slug}
          onChange={setSlug}
          hint="The name that your code asks for: invoices.read. With .* at the end it covers every slug with that prefix."
          required
          autofocus
        />
        <TextField label="Name" name="name" value={name} onChange={setName} hint="A label for people. Empty: the slug." />
        <TextField label="Description" name="description" rows={2} value={description} onChange={setDescription} />
      </Form>
    </Dialog>
  );
};
