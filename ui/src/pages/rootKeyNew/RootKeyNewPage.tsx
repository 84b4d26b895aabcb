import type { MessageInitShape } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { RootKeysService, type RootKeysServiceCreateKeyRequestSchema } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { expiryProblem } from "../../data/drafts/expiryDraft.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { readLocalTime } from "../../data/readInput.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Secret } from "../../design/dialogs/Secret.tsx";
import { ExpiryField } from "../../design/forms/ExpiryField.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { PermissionPicker } from "../../design/permissions/PermissionPicker.tsx";
import { navigate } from "../../router/address.ts";

const { createKey } = RootKeysService.method;

const requestOf = (
  name: string,
  expires: string,
  permissions: readonly string[],
): MessageInitShape<typeof RootKeysServiceCreateKeyRequestSchema> => {
  const at = readLocalTime(expires);
  return {
    permissions: [...permissions],
    ...(name === "" ? {} : { name }),
    ...(at === undefined ? {} : { expires: { kind: { case: "value", value: at } } }),
  };
};

/** `/ui/root-keys/new`: a root key with chosen permissions; its secret is shown once. */
export const Page = (): JSX.Element => {
  const [name, setName] = useState("");
  const [expires, setExpires] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [secret, setSecret] = useState<string>();
  const create = useMutation(createKey);
  const request = requestOf(name, expires, chosen);
  const problem = (): string | undefined => {
    const expiry = expires === "" ? undefined : expiryProblem(expires, Date.now());
    return missingReason(createKey, {}) ?? expiry ?? (chosen.length === 0 ? "Choose a permission first." : undefined);
  };
  const submit = async (): Promise<void> => {
    if (problem() !== undefined || create.pending) return;
    const answer = await create.run(request);
    setSecret(answer?.message.data?.key);
  };
  return (
    <PageFrame title="New root key" parent={{ href: "/ui/root-keys", label: "Root keys" }}>
      <Form
        onSubmit={() => void submit()}
        error={create.error}
        fields={["name", "expires", "permissions"]}
        actions={
          <>
            <Button kind="primary" type="submit" pending={create.pending} disabledBecause={problem()}>
              Create root key
            </Button>
            <CodeDrawer method={createKey} request={request} />
          </>
        }
      >
        <TextField label="Name" name="name" value={name} onChange={setName} hint="Its purpose, so that people can find it." />
        <ExpiryField label="Expires" value={expires} onChange={setExpires} hint="Empty: never. No later than your own root key." />
        <PermissionPicker chosen={chosen} onChange={setChosen} />
      </Form>
      {secret !== undefined && (
        <Secret
          title="The new root key"
          secret={secret}
          onClose={() => {
            setSecret(undefined);
            navigate("/ui/root-keys");
          }}
        />
      )}
    </PageFrame>
  );
};
