import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type RootKey, RootKeysService } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { CallError, readCallError } from "../../data/calls/callError.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { ReviewChanges } from "../../design/dialogs/ReviewChanges.tsx";
import { announce } from "../../design/states/announcements.ts";
import { readRootKey } from "./readRootKey.ts";
import { changesOf, draftOf, isSame, requestOf } from "./rootKeyDraft.ts";
import { titleOf, usedOf } from "./rootKeyText.ts";

export interface ShrinkRootKeyProps {
  readonly rootKey: RootKey;
  readonly onClose: () => void;
}

/** Takes from a root key what it has not used in 30 days. */
export const ShrinkRootKey = ({ rootKey, onClose }: ShrinkRootKeyProps): JSX.Element => {
  const update = useMutation(RootKeysService.method.updateKey);
  const draft = { ...draftOf(rootKey), permissions: usedOf(rootKey) };
  const request = requestOf(rootKey, draft);
  const [unseen, setUnseen] = useState<CallError>();
  const confirm = async (): Promise<void> => {
    try {
      // A root key has no ETag: read it again, so that permissions which another editor removed are not restored.
      const now = await readRootKey(rootKey.keyId);
      if (!isSame(now, rootKey)) throw new CallError("changed", "The root key has changed. Close this dialog and open it again.");
    } catch (thrown) {
      return setUnseen(readCallError(thrown));
    }
    if ((await update.run(request)) === undefined) return;
    announce(`${titleOf(rootKey)} holds what it uses.`);
    onClose();
  };
  return (
    <ReviewChanges
      method={update.method}
      request={request}
      changes={changesOf(rootKey, draft)}
      pending={update.pending}
      error={unseen ?? update.error}
      action="Save changes"
      onConfirm={() => void confirm()}
      onClose={onClose}
    />
  );
};
