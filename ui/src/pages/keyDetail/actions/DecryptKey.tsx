import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { KeysService } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { call } from "../../../data/calls/call.ts";
import { type CallError, readCallError } from "../../../data/calls/callError.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../../design/dialogs/Dialog.tsx";
import { Secret } from "../../../design/dialogs/Secret.tsx";
import { ErrorNote } from "../../../design/states/ErrorNote.tsx";

const { getKey } = KeysService.method;

/** Reads the secret of a recoverable key, which needs the root key again (console §2.4). */
export const DecryptKey = ({ keyId, onClose }: { readonly keyId: string; readonly onClose: () => void }): JSX.Element => {
  const [secret, setSecret] = useState<string>();
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<CallError>();
  const [absent, setAbsent] = useState(false);
  const request = { keyId, decrypt: true };
  const decrypt = async (): Promise<void> => {
    setPending(true);
    setError(undefined);
    try {
      const { message } = await call(getKey, request);
      setSecret(message.data?.plaintext);
      setAbsent(message.data?.plaintext === undefined);
    } catch (thrown) {
      setError(readCallError(thrown));
    } finally {
      setPending(false);
    }
  };
  if (secret !== undefined) return <Secret title="The key" secret={secret} again onClose={onClose} />;
  return (
    <Dialog title="Decrypt key" onClose={onClose}>
      <p>The secret of a recoverable key can be read again. Each read is recorded in the audit log.</p>
      {absent && <p role="alert">This key is not recoverable: only its hash is stored.</p>}
      {error !== undefined && <ErrorNote error={error} />}
      <div class="actions">
        <Button kind="primary" pending={pending} onClick={() => void decrypt()} autofocus>
          Decrypt
        </Button>
        <CodeDrawer method={getKey} request={request} />
      </div>
    </Dialog>
  );
};
