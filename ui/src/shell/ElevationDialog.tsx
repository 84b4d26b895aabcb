import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { confirmRootKey } from "../data/access/session.ts";
import { elevationRequest } from "../data/access/sessionState.ts";
import { type CallError, readCallError } from "../data/calls/callError.ts";
import { Button } from "../design/actions/Button.tsx";
import { Dialog } from "../design/dialogs/Dialog.tsx";
import { Form } from "../design/forms/Form.tsx";
import { TextField } from "../design/forms/TextField.tsx";

const Entry = (): JSX.Element => {
  const [rootKey, setRootKey] = useState("");
  const [error, setError] = useState<CallError>();
  const [pending, setPending] = useState(false);
  const confirm = async (): Promise<void> => {
    setPending(true);
    try {
      await confirmRootKey(rootKey);
    } catch (thrown) {
      setError(readCallError(thrown));
    } finally {
      setPending(false);
      setRootKey("");
    }
  };
  return (
    <Dialog title="Confirm that it is you" onClose={() => elevationRequest.value?.refused()}>
      <Form
        onSubmit={() => void confirm()}
        error={error}
        fields={["rootKey"]}
        actions={
          <Button kind="primary" type="submit" pending={pending}>
            Confirm
          </Button>
        }
      >
        <p>This needs the root key of your session once more. It is good for five minutes.</p>
        <TextField label="Root key" name="rootKey" type="password" value={rootKey} onChange={setRootKey} required autofocus />
      </Form>
    </Dialog>
  );
};

/** Shows while a call waits for the root key to be entered again (console §2.4). */
export const ElevationDialog = (): JSX.Element | null => (elevationRequest.value === undefined ? null : <Entry />);
