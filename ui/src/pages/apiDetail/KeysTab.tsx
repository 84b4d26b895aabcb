import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { call } from "../../data/calls/call.ts";
import { snippet } from "../../data/code/snippets.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { keyState } from "../../data/keyState.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Secret } from "../../design/dialogs/Secret.tsx";
import { SearchField } from "../../design/forms/SearchField.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { lazyPart } from "../../design/states/lazyPart.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { ExportKeys } from "../../design/tables/ExportKeys.tsx";
import { Int64 } from "../../design/values/Int64.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import { Time } from "../../design/values/Time.tsx";
import { queryParams } from "../../router/address.ts";
import { usePageCommands } from "../../router/pageCommands.ts";
import { type ManyAct, methodOf } from "./actOnMany.ts";

const { listKeys } = ApisService.method;
const { createKey } = KeysService.method;

const CreateKey = lazyPart(async () => (await import("./CreateKey.tsx")).CreateKey, 0);
const ManyKeys = lazyPart(async () => (await import("./ManyKeys.tsx")).ManyKeys, 0);

const columns: readonly Column<Key>[] = [
  {
    id: "name",
    label: "Name",
    narrow: true,
    cell: ({ keyId, name }) => <a href={`/ui/keys/${encodeURIComponent(keyId)}`}>{name ?? keyId}</a>,
  },
  { id: "start", label: "Begins with", cell: ({ start }) => <code>{start === "" ? "–" : `${start}…`}</code> },
  { id: "state", label: "State", narrow: true, cell: (key) => <OutcomeBadge outcome={keyState(key, Date.now())} /> },
  { id: "externalId", label: "Identity", cell: ({ identity }) => identity?.externalId ?? <span class="quiet">–</span> },
  {
    id: "credits",
    label: "Credits",
    number: true,
    cell: ({ credits }) => (credits === undefined ? <span class="quiet">unlimited</span> : <Int64 value={credits.remaining} />),
  },
  { id: "expires", label: "Expires", cell: ({ expires }) => <Time at={expires} none="never" /> },
  { id: "lastUsedAt", label: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} none="never" relative /> },
  { id: "createdAt", label: "Created", optional: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { id: "keyId", label: "ID", optional: true, cell: ({ keyId }) => <code>{keyId}</code> },
  { id: "roles", label: "Roles", optional: true, cell: ({ roles }) => roles.join(", ") },
];

/** Lists the keys of an API, and makes new ones. */
export const KeysTab = ({ apiId }: { readonly apiId: string }): JSX.Element => {
  const externalId = queryParams.value.get("externalId") ?? "";
  const request = { apiId, limit: 100n, ...(externalId === "" ? {} : { externalId }) };
  const keys = usePages(listKeys, request, (answer) => answer);
  const [creating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [act, setAct] = useState<ManyAct>();
  const chosenKeys = (keys.data ?? []).filter(({ keyId }) => chosen.has(keyId));
  const forbidden = missingReason(createKey, { api_id: apiId });
  usePageCommands(forbidden === undefined ? [{ label: "Create key", run: () => setCreating(true) }] : []);

  const button = (
    <Button kind="primary" onClick={() => setCreating(true)} disabledBecause={forbidden}>
      Create key
    </Button>
  );
  return (
    <>
      <div class="filters">
        <SearchField label="External ID" name="externalId" placeholder="Exact match" />
        <div class="actions">
          <CodeDrawer method={listKeys} request={request} />
          <ExportKeys
            fileName={`keys-${apiId}`}
            readPage={async (cursor, options) => (await call(listKeys, { ...request, cursor }, options)).message}
          >
            {externalId === "" ? "All keys of this API, without their secrets." : "The keys that the filter shows, without their secrets."}
          </ExportKeys>
          {button}
        </div>
      </div>
      {chosenKeys.length > 0 && (
        <div class="actions" role="group" aria-label="Chosen keys">
          <span>{chosenKeys.length} chosen</span>
          {(["Enable", "Disable", "Delete"] as const).map((each) => (
            <Button
              key={each}
              {...(each === "Delete" ? { kind: "danger" as const } : {})}
              onClick={() => setAct(each)}
              disabledBecause={missingReason(methodOf(each), { api_id: apiId })}
            >
              {each}
            </Button>
          ))}
        </div>
      )}
      <QueryView query={keys}>
        {(rows) => {
          if (rows.length > 0) {
            return (
              <DataTable
                label="Keys"
                columns={columns}
                rows={rows}
                rowKey={({ keyId }) => keyId}
                choice={{ chosen, onChange: setChosen, labelOf: ({ name, keyId }) => name ?? keyId }}
                more={keys.hasMore ? { loading: keys.loadingMore, load: keys.loadMore } : undefined}
              />
            );
          }
          if (externalId !== "") return <EmptyState>No key of this API belongs to “{externalId}”.</EmptyState>;
          const first = { method: createKey, request: create(createKey.input, { apiId, name: "first key" }) };
          return (
            <EmptyState code={snippet("curl", first, location.origin)} action={button}>
              This API has no keys yet.
            </EmptyState>
          );
        }}
      </QueryView>
      {creating && <CreateKey apiId={apiId} onClose={() => setCreating(false)} onCreated={setSecret} />}
      {act !== undefined && (
        <ManyKeys
          act={act}
          keys={chosenKeys}
          onClose={(left) => {
            setAct(undefined);
            setChosen(new Set(left.map(({ keyId }) => keyId)));
          }}
        />
      )}
      {secret !== undefined && <Secret title="The new key" secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
};
