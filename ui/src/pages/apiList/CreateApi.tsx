import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { announce } from "../../design/states/announcements.ts";
import { navigate } from "../../router/address.ts";

/** Makes an API and goes to its page. */
export const CreateApi = ({ onClose }: { readonly onClose: () => void }): JSX.Element => {
  const [name, setName] = useState("");
  const create = useMutation(ApisService.method.createApi);
  const submit = async (): Promise<void> => {
    const answer = await create.run({ name });
    if (answer?.message.data === undefined) return;
    announce(`Created ${name}.`);
    onClose();
    navigate(`/ui/apis/${answer.message.data.apiId}`);
  };
  return (
    <Dialog title="New API" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={create.error}
        fields={["name"]}
        actions={
          <>
            <Button kind="primary" type="submit" pending={create.pending}>
              Create API
            </Button>
            <CodeDrawer method={create.method} request={{ name }} />
          </>
        }
      >
        <TextField
          label="Name"
          name="name"
          value={name}
          onChange={setName}
          hint="3 to 256 characters. It need not be unique."
          required
          autofocus
        />
      </Form>
    </Dialog>
  );
};
