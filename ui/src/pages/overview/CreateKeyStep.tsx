import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { CommandOfStep } from "./CommandOfStep.tsx";

export interface CreateKeyStepProps {
  readonly apiId: string;
  /** Gets the secret, which is shown this once. */
  readonly onCreated: (secret: string) => void;
}

/** The second step: a key without bounds. All else that a key can have is on the page of the API. */
export const CreateKeyStep = ({ apiId, onCreated }: CreateKeyStepProps): JSX.Element => {
  const [name, setName] = useState("first key");
  const create = useMutation(KeysService.method.createKey);
  const request = { apiId, ...(name === "" ? {} : { name }) };
  const submit = async (): Promise<void> => {
    const answer = await create.run(request);
    if (answer?.message.data !== undefined) onCreated(answer.message.data.key);
  };
  return (
    <>
      <p>It is shown once. Copy it: the next step asks for it.</p>
      <Form
        onSubmit={() => void submit()}
        error={create.error}
        fields={["name"]}
        actions={
          <Button kind="primary" type="submit" pending={create.pending} disabledBecause={missingReason(create.method, { api_id: apiId })}>
            Create key
          </Button>
        }
      >
        <TextField label="Name" name="name" value={name} onChange={setName} hint="A label for people. It need not be unique." />
      </Form>
      <CommandOfStep method={create.method} request={request} />
    </>
  );
};
