import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { announce } from "../../design/states/announcements.ts";
import { ErrorNote } from "../../design/states/ErrorNote.tsx";
import { NoRows } from "../../design/states/NoRows.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { KeyTable } from "../../design/tables/KeyTable.tsx";

const { addRoles, removeRoles, searchKeys } = KeysService.method;

const AddMember = ({ role, onClose }: { readonly role: string; readonly onClose: () => void }): JSX.Element => {
  const [keyId, setKeyId] = useState("");
  const add = useMutation(addRoles);
  const request = { keyId: keyId.trim(), roles: [role] };
  const submit = async (): Promise<void> => {
    if ((await add.run(request)) === undefined) return;
    announce(`${request.keyId} has the role ${role}.`);
    onClose();
  };
  return (
    <Dialog title="Add member" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={add.error}
        fields={["keyId"]}
        actions={
          <>
            <Button kind="primary" type="submit" pending={add.pending}>
              Add member
            </Button>
            <CodeDrawer method={addRoles} request={request} />
          </>
        }
      >
        <TextField
          label="Key ID"
          name="keyId"
          value={keyId}
          onChange={setKeyId}
          placeholder="key_…"
          hint="The key keeps its other roles. Find shows the ID of a key by its name, prefix or last characters."
          required
          autofocus
        />
      </Form>
    </Dialog>
  );
};

/** The keys that have a role: one is added by its id, each can be taken out. */
export const RoleMembers = ({ role }: { readonly role: string }): JSX.Element => {
  const keys = usePages(searchKeys, { role, limit: 100n }, (answer) => answer);
  const [adding, setAdding] = useState(false);
  const remove = useMutation(removeRoles);
  const take = async ({ keyId, name }: Key): Promise<void> => {
    if ((await remove.run({ keyId, roles: [role] })) !== undefined) announce(`${name ?? keyId} no longer has the role ${role}.`);
  };
  const removal = (key: Key): JSX.Element => (
    <Button
      kind="plain"
      label={`Remove ${key.name ?? key.keyId}`}
      onClick={() => void take(key)}
      disabledBecause={missingReason(removeRoles, key.apiId === undefined ? {} : { api_id: key.apiId })}
    >
      Remove
    </Button>
  );
  return (
    <>
      <div class="section-header">
        <h3>Members</h3>
        <Button onClick={() => setAdding(true)} disabledBecause={missingReason(addRoles, {})}>
          Add member
        </Button>
      </div>
      {remove.error !== undefined && <ErrorNote error={remove.error} />}
      <QueryView query={keys}>
        {(rows) =>
          rows.length > 0 || keys.hasMore ? (
            <KeyTable label="Members" keys={rows} pages={keys} because={{ label: "Membership", cell: removal }} />
          ) : (
            <NoRows>No key that you may read has this role.</NoRows>
          )
        }
      </QueryView>
      {adding && <AddMember role={role} onClose={() => setAdding(false)} />}
    </>
  );
};
