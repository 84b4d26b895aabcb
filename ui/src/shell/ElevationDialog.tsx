import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { elevationAddress, identityProvider } from "../data/access/identityProvider.ts";
import { confirmRootKey, lookForElevation } from "../data/access/session.ts";
import { elevationRequest, person } from "../data/access/sessionState.ts";
import { type CallError, readCallError } from "../data/calls/callError.ts";
import { Button } from "../design/actions/Button.tsx";
import { Dialog } from "../design/dialogs/Dialog.tsx";
import { Form } from "../design/forms/Form.tsx";
import { TextField } from "../design/forms/TextField.tsx";

/** Milliseconds between looks whether the other window is done. */
const lookEvery = 1_000;

/** For the session of a person: the provider's page opens in a window of its own, so that nothing typed here is lost. */
const OtherWindow = (): JSX.Element => {
  useEffect(() => {
    const looks = setInterval(() => {
      // While this page is hidden, the person is in the other window, and the session's cookie may change at any time.
      if (document.hidden) return;
      // While the service is down, nothing is known yet.
      lookForElevation().catch(() => undefined);
    }, lookEvery);
    return () => clearInterval(looks);
  }, []);
  return (
    <Dialog title="Confirm your identity" onClose={() => elevationRequest.value?.refused()}>
      <p>Sign in again in another window. The confirmation lasts five minutes, and this page continues by itself.</p>
      <div class="actions">
        <a class="button primary" href={elevationAddress} target="_blank" rel="noopener" data-autofocus="">
          Confirm with {identityProvider.value ?? "your identity provider"}
        </a>
      </div>
    </Dialog>
  );
};

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
    <Dialog title="Confirm your identity" onClose={() => elevationRequest.value?.refused()}>
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
        <p>Enter the root key of your session again. The confirmation lasts five minutes.</p>
        <TextField label="Root key" name="rootKey" type="password" value={rootKey} onChange={setRootKey} required autofocus />
      </Form>
    </Dialog>
  );
};

/** Shows while a call waits for the root key to be entered again, or for a person to sign in again (console §2.4). */
export const ElevationDialog = (): JSX.Element | null => {
  if (elevationRequest.value === undefined) return null;
  return person.value === undefined ? <Entry /> : <OtherWindow />;
};
