import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Checkbox } from "../../design/forms/Checkbox.tsx";
import { ExpiryField } from "../../design/forms/ExpiryField.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { LimitsField } from "../../design/forms/LimitsField.tsx";
import { RefillField } from "../../design/forms/RefillField.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { type CreateKeyDraft, createKeyFields, createKeyRequest, emptyDraft, firstRefill, unreadableIn } from "./createKeyDraft.ts";

export interface CreateKeyProps {
  readonly apiId: string;
  readonly onClose: () => void;
  /** Takes the secret, which is there this once. */
  readonly onCreated: (secret: string) => void;
}

/** Makes a key and hands over its secret. */
export const CreateKey = ({ apiId, onClose, onCreated }: CreateKeyProps): JSX.Element => {
  const [typed, setTyped] = useState(emptyDraft);
  const create = useMutation(KeysService.method.createKey);
  const request = createKeyRequest(apiId, typed);
  const problems = unreadableIn(typed, Date.now());
  const set =
    <Name extends keyof CreateKeyDraft>(name: Name) =>
    (value: CreateKeyDraft[Name]): void =>
      setTyped((before) => ({ ...before, [name]: value }));
  /** Connects a text field with its part of the draft. */
  const field = (name: "name" | "prefix" | "byteLength" | "externalId" | "roles" | "permissions" | "meta") => ({
    name,
    value: typed[name],
    onChange: set(name),
  });
  const submit = async (): Promise<void> => {
    if (Object.keys(unreadableIn(typed, Date.now())).length > 0) return;
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
        fields={createKeyFields}
        actions={
          <>
            <Button kind="primary" type="submit" pending={create.pending} disabledBecause={problems.expires}>
              Create key
            </Button>
            <CodeDrawer method={create.method} request={request} />
          </>
        }
      >
        <TextField label="Name" {...field("name")} hint="A label for people. It need not be unique." autofocus />
        <div class="field-row">
          <TextField label="Prefix" {...field("prefix")} hint="Before the secret: acme makes acme_…" />
          <TextField label="Bytes" {...field("byteLength")} error={problems.byteLength} hint="Of the secret; empty: 16." />
        </div>
        <TextField label="External ID" {...field("externalId")} hint="Your own name for the key's owner. An unknown one is created." />
        <ExpiryField label="Expires" value={typed.expires} onChange={set("expires")} hint="Empty: never." />
        <TextField
          label="Credits"
          name="credits.remaining"
          value={typed.remaining}
          onChange={set("remaining")}
          error={problems.remaining}
          hint="Empty: unlimited."
        />
        <Checkbox
          label="Refill"
          name="credits.refill"
          checked={typed.refill !== undefined}
          onChange={(refills) => set("refill")(refills ? firstRefill : undefined)}
          hint="Credits are added regularly, to a balance that is not unlimited."
        />
        {typed.refill !== undefined && <RefillField name="credits.refill" value={typed.refill} onChange={set("refill")} />}
        <div class="field">
          <p class="group-label">Rate limits</p>
          <LimitsField name="ratelimits" value={typed.ratelimits} onChange={set("ratelimits")} />
        </div>
        <TextField label="Roles" rows={2} {...field("roles")} hint="Names of roles, one per line." />
        <TextField label="Permissions" rows={2} {...field("permissions")} hint="Slugs, one per line. Unknown ones are created." />
        <TextField label="Meta" rows={3} {...field("meta")} error={problems.meta} hint="A JSON object. Verifications return it." />
        <Checkbox label="Enabled" name="enabled" checked={typed.enabled} onChange={set("enabled")} />
        <Checkbox
          label="Recoverable"
          name="recoverable"
          checked={typed.recoverable}
          onChange={set("recoverable")}
          hint="The secret is stored encrypted and can be read again. Otherwise only its hash is stored."
        />
      </Form>
    </Dialog>
  );
};
