import type { MessageInitShape } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type CreateKeyRequestSchema, KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { readInteger, readList, readLocalTime } from "../../data/readInput.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";

export interface CreateKeyProps {
  readonly apiId: string;
  readonly onClose: () => void;
  /** Takes the secret, which is there this once. */
  readonly onCreated: (secret: string) => void;
}

/** The form's fields, as they were typed, by their JSON names. */
const empty = { name: "", prefix: "", externalId: "", expires: "", remaining: "", roles: "", permissions: "" };

const fields = ["name", "prefix", "externalId", "expires", "credits.remaining", "roles", "permissions"];

const requestOf = (apiId: string, typed: typeof empty): MessageInitShape<typeof CreateKeyRequestSchema> => {
  const remaining = readInteger(typed.remaining);
  const expires = readLocalTime(typed.expires);
  return {
    apiId,
    ...(typed.name === "" ? {} : { name: typed.name }),
    ...(typed.prefix === "" ? {} : { prefix: typed.prefix }),
    ...(typed.externalId === "" ? {} : { externalId: typed.externalId }),
    ...(expires === undefined ? {} : { expires }),
    ...(typeof remaining === "bigint" ? { credits: { remaining: { kind: { case: "value", value: remaining } } } } : {}),
    roles: readList(typed.roles),
    permissions: readList(typed.permissions),
  };
};

/** Makes a key and hands over its secret. */
export const CreateKey = ({ apiId, onClose, onCreated }: CreateKeyProps): JSX.Element => {
  const [typed, setTyped] = useState(empty);
  const create = useMutation(KeysService.method.createKey);
  const request = requestOf(apiId, typed);
  const unreadable = readInteger(typed.remaining) === "invalid" ? "A whole number, or nothing." : undefined;
  const set = (name: keyof typeof empty) => (value: string) => setTyped((before) => ({ ...before, [name]: value }));
  const submit = async (): Promise<void> => {
    if (unreadable !== undefined) return;
    const answer = await create.run(request);
    if (answer?.message.data === undefined) return;
    onClose();
    onCreated(answer.message.data.key);
  };
  return (
    <Dialog title="New key" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={create.error}
        fields={fields}
        actions={
          <>
            <Button kind="primary" type="submit" pending={create.pending}>
              Create key
            </Button>
            <CodeDrawer method={create.method} request={request} />
          </>
        }
      >
        <TextField label="Name" name="name" value={typed.name} onChange={set("name")} hint="For people: it need not be unique." autofocus />
        <TextField label="Prefix" name="prefix" value={typed.prefix} onChange={set("prefix")} hint="Before the secret: acme makes acme_…" />
        <TextField
          label="External ID"
          name="externalId"
          value={typed.externalId}
          onChange={set("externalId")}
          hint="Your own name for the key's owner. An unknown one is created."
        />
        <TextField
          label="Expires"
          name="expires"
          type="datetime-local"
          value={typed.expires}
          onChange={set("expires")}
          hint="Empty: never."
        />
        <TextField
          label="Credits"
          name="credits.remaining"
          value={typed.remaining}
          onChange={set("remaining")}
          error={unreadable}
          hint="Empty: unlimited."
        />
        <TextField label="Roles" name="roles" rows={2} value={typed.roles} onChange={set("roles")} hint="Names of roles, one a line." />
        <TextField
          label="Permissions"
          name="permissions"
          rows={2}
          value={typed.permissions}
          onChange={set("permissions")}
          hint="Slugs, one a line. Unknown ones are created."
        />
      </Form>
    </Dialog>
  );
};
