import type { JSX } from "preact";
import { type RootKey, RootKeysService } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { ConfirmName } from "../../design/dialogs/ConfirmName.tsx";
import { announce } from "../../design/states/announcements.ts";
import { Time } from "../../design/values/Time.tsx";
import { titleOf } from "./rootKeyText.ts";

export interface RevokeRootKeyProps {
  readonly rootKey: RootKey;
  /** It is the one of this session. */
  readonly own: boolean;
  readonly onClose: () => void;
}

/** The end of a root key and of the sessions that were opened with it. */
export const RevokeRootKey = ({ rootKey, own, onClose }: RevokeRootKeyProps): JSX.Element => {
  const remove = useMutation(RootKeysService.method.deleteKey);
  const request = { keyId: rootKey.keyId };
  const title = titleOf(rootKey);
  const confirm = async (): Promise<void> => {
    if ((await remove.run(request)) === undefined) return;
    announce(`Revoked ${title}.`);
    onClose();
  };
  return (
    <ConfirmName
      title="Revoke root key"
      name={title}
      action="Revoke"
      pending={remove.pending}
      error={remove.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        Every call with it is refused at once, and its sessions of the console end.{" "}
        {rootKey.lastUsedAt === 0n ? (
          "It was never used."
        ) : (
          <>
            It was last used <Time at={rootKey.lastUsedAt} relative />.
          </>
        )}
      </p>
      {own && (
        <p>
          <strong>It is the root key of your own session: you will be signed out.</strong>
        </p>
      )}
      <div class="actions">
        <CodeDrawer method={remove.method} request={request} />
      </div>
    </ConfirmName>
  );
};
