import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type RootKey, RootKeysService } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { snippet } from "../../data/code/snippets.ts";
import { useNow } from "../../data/hooks/useNow.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Secret } from "../../design/dialogs/Secret.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import { Time } from "../../design/values/Time.tsx";
import { navigate, queryParams, setQueryParams } from "../../router/address.ts";
import { usePageCommands } from "../../router/pageCommands.ts";
import { EditRootKey } from "./EditRootKey.tsx";
import { RerollRootKey } from "./RerollRootKey.tsx";
import { RevokeRootKey } from "./RevokeRootKey.tsx";
import { type RootKeyAction, RootKeyActions } from "./RootKeyActions.tsx";
import { RootKeyDetails } from "./RootKeyDetails.tsx";
import { expiryOf, stateOf, titleOf, usedOf } from "./rootKeyText.ts";
import { ShrinkRootKey } from "./ShrinkRootKey.tsx";
import "./rootKeys.css";

const { listKeys, createKey, whoami } = RootKeysService.method;

const Uses = ({ rootKey }: { readonly rootKey: RootKey }): JSX.Element => {
  const used = usedOf(rootKey).length;
  const held = rootKey.permissions.length;
  return (
    <span class="uses">
      <svg viewBox="0 0 32 6" width="32" height="6" aria-hidden="true" focusable="false">
        <rect width="32" height="6" rx="3" />
        <rect class="used" width={held === 0 ? 0 : (32 * used) / held} height="6" rx="3" />
      </svg>
      uses {used} of {held} permissions
    </span>
  );
};

interface Doing {
  readonly action: RootKeyAction;
  readonly rootKey: RootKey;
}

const columns = (own: string | undefined, now: number, act: (doing: Doing) => void): readonly Column<RootKey>[] => [
  {
    id: "name",
    label: "Name",
    narrow: true,
    cell: (rootKey) => (
      <>
        <a href={`/ui/root-keys?key=${encodeURIComponent(rootKey.keyId)}`}>{titleOf(rootKey)}</a>
        {rootKey.keyId === own && <span class="quiet"> yours</span>}
      </>
    ),
  },
  { id: "start", label: "Secret", optional: true, cell: ({ start, end }) => <code>{`${start}…${end}`}</code> },
  { id: "state", label: "State", cell: (rootKey) => <OutcomeBadge outcome={stateOf(rootKey, now)} /> },
  {
    id: "lastUsedAt",
    label: "Last used",
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt === 0n ? undefined : lastUsedAt} none="never" relative />,
  },
  { id: "permissions", label: "Permissions", narrow: true, cell: (rootKey) => <Uses rootKey={rootKey} /> },
  { id: "expires", label: "Expires", cell: (rootKey) => <Time at={expiryOf(rootKey)} none="never" /> },
  { id: "createdAt", label: "Created", optional: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { id: "keyId", label: "ID", optional: true, cell: ({ keyId }) => <code>{keyId}</code> },
  {
    id: "actions",
    label: "Actions",
    cell: (rootKey) => <RootKeyActions rootKey={rootKey} onAction={(action) => act({ action, rootKey })} />,
  },
];

/** `/ui/root-keys`: the root keys that the session may read, and what is done to them. */
export const Page = (): JSX.Element => {
  const request = { limit: 100n };
  const rootKeys = usePages(listKeys, request, (answer) => answer);
  // A person's session has no root key: then no row is marked.
  const own = useQuery(whoami, {}).data?.data?.keyId;
  const now = useNow(1000);
  const [doing, setDoing] = useState<Doing>();
  const [secret, setSecret] = useState<string>();
  const shown = queryParams.value.get("key");
  const forbidden = missingReason(createKey, {});
  const toNew = (): void => navigate("/ui/root-keys/new");
  usePageCommands(forbidden === undefined ? [{ label: "Create root key", run: toNew }] : []);
  const done = (): void => setDoing(undefined);

  const button = (
    <Button kind="primary" onClick={toNew} disabledBecause={forbidden}>
      Create root key
    </Button>
  );
  return (
    <PageFrame
      title="Root keys"
      actions={
        <>
          <CodeDrawer method={listKeys} request={request} />
          {button}
        </>
      }
    >
      <QueryView query={rootKeys}>
        {(rows) => {
          if (rows.length > 0) {
            return (
              <div class="root-keys">
                <DataTable
                  label="Root keys"
                  columns={columns(own, now, setDoing)}
                  rows={rows}
                  rowKey={({ keyId }) => keyId}
                  more={rootKeys.hasMore ? { loading: rootKeys.loadingMore, load: rootKeys.loadMore } : undefined}
                />
              </div>
            );
          }
          const first = { name: "verifier", permissions: ["api.*.verify_key"] };
          const call = { method: createKey, request: create(createKey.input, first) };
          return (
            <EmptyState action={button} code={snippet("curl", call, location.origin)}>
              There is no root key that you may see.
            </EmptyState>
          );
        }}
      </QueryView>
      {shown !== null && doing === undefined && (
        <RootKeyDetails
          keyId={shown}
          onAction={(action, rootKey) => setDoing({ action, rootKey })}
          onClose={() => setQueryParams({ key: undefined })}
        />
      )}
      {doing?.action === "edit" && <EditRootKey rootKey={doing.rootKey} reload={rootKeys.reload} onClose={done} />}
      {doing?.action === "shrink" && <ShrinkRootKey rootKey={doing.rootKey} onClose={done} />}
      {doing?.action === "reroll" && <RerollRootKey rootKey={doing.rootKey} onRerolled={setSecret} onClose={done} />}
      {doing?.action === "revoke" && (
        <RevokeRootKey
          rootKey={doing.rootKey}
          own={doing.rootKey.keyId === own}
          onClose={() => {
            done();
            setQueryParams({ key: undefined });
          }}
        />
      )}
      {secret !== undefined && <Secret title="The new root key" secret={secret} onClose={() => setSecret(undefined)} />}
    </PageFrame>
  );
};
