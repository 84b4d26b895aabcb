import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Identity } from "../../../../gen/latchkey/v2/common_pb.ts";
import { IdentitiesService } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { snippet } from "../../data/code/snippets.ts";
import { limitsText } from "../../data/drafts/limitDraft.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { identityPath } from "../../data/identityPath.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { SearchField } from "../../design/forms/SearchField.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { queryParams } from "../../router/address.ts";
import { usePageCommands } from "../../router/pageCommands.ts";
import { CreateIdentity } from "./CreateIdentity.tsx";

const { listIdentities, createIdentity } = IdentitiesService.method;

const columns: readonly Column<Identity>[] = [
  { id: "externalId", label: "External ID", narrow: true, cell: (identity) => <a href={identityPath(identity)}>{identity.externalId}</a> },
  {
    id: "ratelimits",
    label: "Shared limits",
    cell: ({ ratelimits }) => (ratelimits.length === 0 ? <span class="quiet">none</span> : limitsText(ratelimits)),
  },
  {
    id: "meta",
    label: "Meta",
    cell: ({ meta }) => (meta === undefined ? <span class="quiet">none</span> : <code>{JSON.stringify(meta)}</code>),
  },
  { id: "id", label: "ID", cell: ({ id }) => <code>{id}</code> },
];

/** `/ui/identities`: users and organisations that keys belong to. */
export const Page = (): JSX.Element => {
  const search = queryParams.value.get("search") ?? "";
  const request = { search, limit: 100n };
  const identities = usePages(listIdentities, request, (answer) => answer);
  const [creating, setCreating] = useState(false);
  const forbidden = missingReason(createIdentity, {});
  usePageCommands(forbidden === undefined ? [{ label: "Create identity", run: () => setCreating(true) }] : []);

  const button = (
    <Button kind="primary" onClick={() => setCreating(true)} disabledBecause={forbidden}>
      Create identity
    </Button>
  );
  return (
    <PageFrame
      title="Identities"
      actions={
        <>
          <CodeDrawer method={listIdentities} request={request} />
          {button}
        </>
      }
    >
      <div class="filters">
        <SearchField label="Search" name="search" placeholder="External ID or ID" />
      </div>
      <QueryView query={identities}>
        {(rows) => {
          if (rows.length > 0) {
            return (
              <DataTable
                label="Identities"
                columns={columns}
                rows={rows}
                rowKey={({ id }) => id}
                more={identities.hasMore ? { loading: identities.loadingMore, load: identities.loadMore } : undefined}
              />
            );
          }
          if (search !== "") return <EmptyState>No identity whose external ID or ID contains “{search}”.</EmptyState>;
          const call = { method: createIdentity, request: create(createIdentity.input, { externalId: "user_123" }) };
          return (
            <EmptyState action={button} code={snippet("curl", call, location.origin)}>
              An identity is one of your users or organisations. Its keys share limits and meta. There are none yet.
            </EmptyState>
          );
        }}
      </QueryView>
      {creating && <CreateIdentity onClose={() => setCreating(false)} />}
    </PageFrame>
  );
};
