import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { announce } from "../../design/states/announcements.ts";
import { CommandOfStep } from "./CommandOfStep.tsx";

/** The first step: an API, by its name. */
export const CreateApiStep = (): JSX.Element => {
  const [name, setName] = useState("");
  const create = useMutation(ApisService.method.createApi);
  const submit = async (): Promise<void> => {
    if ((await create.run({ name })) !== undefined) announce(`Created ${name}.`);
  };
  return (
    <>
      <p>An API is a container of keys: one for each service that you protect.</p>
      <Form
        onSubmit={() => void submit()}
        error={create.error}
        fields={["name"]}
        actions={
          <Button kind="primary" type="submit" pending={create.pending} disabledBecause={missingReason(create.method, {})}>
            Create API
          </Button>
        }
      >
        <TextField label="Name" name="name" value={name} onChange={setName} placeholder="payments" hint="3 to 256 characters." required />
      </Form>
      <CommandOfStep method={create.method} request={{ name: name === "" ? "payments" : name }} />
    </>
  );
};
