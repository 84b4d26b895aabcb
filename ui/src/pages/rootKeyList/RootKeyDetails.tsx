import type { JSX } from "preact";
import { type RootKey, RootKeysService } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { unseenBy } from "../../data/access/unseen.ts";
import type { CallOptions } from "../../data/calls/call.ts";
import { useLoad } from "../../data/hooks/useLoad.ts";
import { useNow } from "../../data/hooks/useNow.ts";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import { Time } from "../../design/values/Time.tsx";
import { type RootKeyAction, RootKeyActions } from "./RootKeyActions.tsx";
import { readRootKey } from "./readRootKey.ts";
import { expiryOf, nameOf, stateOf, usedOf } from "./rootKeyText.ts";

const Permissions = ({ rootKey }: { readonly rootKey: RootKey }): JSX.Element => {
  const lastUsed = new Map(rootKey.usedPermissions.map(({ permission, lastUsedAt }) => [permission, lastUsedAt]));
  return (
    <table aria-label="Permissions">
      <thead>
        <tr>
          <th scope="col">Permission</th>
          <th scope="col">Last needed</th>
        </tr>
      </thead>
      <tbody>
        {rootKey.permissions.map((permission) => (
          <tr key={permission}>
            <th scope="row">
              <code>{permission}</code>
            </th>
            <td>
              <Time at={lastUsed.get(permission)} none="not in 30 days" relative />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};

export interface RootKeyDetailsProps {
  readonly keyId: string;
  readonly onAction: (action: RootKeyAction, rootKey: RootKey) => void;
  readonly onClose: () => void;
}

/** A root key with its permissions, and when each was needed last. */
export const RootKeyDetails = ({ keyId, onAction, onClose }: RootKeyDetailsProps): JSX.Element => {
  const unseen = unseenBy(RootKeysService.method.listKeys, { ids: { key_id: keyId } });
  const read = async (options: CallOptions) => ({ message: await readRootKey(keyId, options), etag: undefined });
  const query = useLoad(`root key ${keyId}`, read, { unseen });
  const now = useNow(1000);
  return (
    <Dialog title={query.data === undefined ? keyId : (nameOf(query.data) ?? keyId)} onClose={onClose} place="side">
      <QueryView query={query}>
        {(rootKey) => (
          <>
            <p class="quiet">
              <code>{keyId}</code> · <code>{`${rootKey.start}…${rootKey.end}`}</code>
            </p>
            <dl class="facts">
              <dt>State</dt>
              <dd>
                <OutcomeBadge outcome={stateOf(rootKey, now)} />
              </dd>
              <dt>Last used</dt>
              <dd>
                <Time at={rootKey.lastUsedAt === 0n ? undefined : rootKey.lastUsedAt} none="never" relative />
              </dd>
              <dt>Expires</dt>
              <dd>
                <Time at={expiryOf(rootKey)} none="never" />
              </dd>
              <dt>Created</dt>
              <dd>
                <Time at={rootKey.createdAt} />
              </dd>
            </dl>
            <RootKeyActions rootKey={rootKey} onAction={(action) => onAction(action, rootKey)} all />
            <h3>
              Uses {usedOf(rootKey).length} of {rootKey.permissions.length} permissions
            </h3>
            <p class="quiet">Counted over the last 30 days, as accurate as an hour.</p>
            <Permissions rootKey={rootKey} />
          </>
        )}
      </QueryView>
    </Dialog>
  );
};
