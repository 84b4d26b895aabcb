import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Permission } from "../../../../gen/latchkey/v2/common_pb.ts";
import { PermissionsService } from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { snippet } from "../../data/code/snippets.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { SearchField } from "../../design/forms/SearchField.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { queryParams, setQueryParams } from "../../router/address.ts";
import { usePageCommands } from "../../router/pageCommands.ts";
import { CreatePermission } from "./CreatePermission.tsx";
import { PermissionDialog } from "./PermissionDialog.tsx";
import { holdersHref } from "./Slugs.tsx";

const { listPermissions, createPermission } = PermissionsService.method;

const columns: readonly Column<Permission>[] = [
  {
    id: "slug",
    label: "Slug",
    narrow: true,
    cell: ({ id, slug }) => (
      <a href={`/ui/access?tab=permissions&edit=${encodeURIComponent(id)}`}>
        <code>{slug}</code>
      </a>
    ),
  },
  { id: "name", label: "Name", cell: ({ name }) => name },
  { id: "description", label: "Description", cell: ({ description }) => description ?? <span class="quiet">none</span> },
  { id: "holders", label: "Members", narrow: true, cell: ({ slug }) => <a href={holdersHref(slug)}>Who holds it?</a> },
  { id: "id", label: "ID", optional: true, cell: ({ id }) => <code>{id}</code> },
];

/** Lists permissions, and makes new ones. */
export const PermissionsTab = (): JSX.Element => {
  const search = queryParams.value.get("search") ?? "";
  const edited = queryParams.value.get("edit");
  const request = { search, limit: 100n };
  const permissions = usePages(listPermissions, request, (answer) => answer);
  const [creating, setCreating] = useState(false);
  const forbidden = missingReason(createPermission, {});
  usePageCommands(forbidden === undefined ? [{ label: "Create permission", run: () => setCreating(true) }] : []);

  const button = (
    <Button kind="primary" onClick={() => setCreating(true)} disabledBecause={forbidden}>
      Create permission
    </Button>
  );
  return (
    <>
      <div class="filters">
        <SearchField label="Search" name="search" placeholder="Slug, name, ID or description" />
        <div class="actions">
          <CodeDrawer method={listPermissions} request={request} />
          {button}
        </div>
      </div>
      <QueryView query={permissions}>
        {(rows) => {
          if (rows.length > 0) {
            return (
              <DataTable
                label="Permissions"
                columns={columns}
                rows={rows}
                rowKey={({ id }) => id}
                more={permissions.hasMore ? { loading: permissions.loadingMore, load: permissions.loadMore } : undefined}
              />
            );
          }
          if (search !== "") return <EmptyState>No permission that contains “{search}”.</EmptyState>;
          const first = create(createPermission.input, { slug: "invoices.read", name: "Read invoices" });
          return (
            <EmptyState action={button} code={snippet("curl", { method: createPermission, request: first }, location.origin)}>
              A verification asks for permissions. There are none yet.
            </EmptyState>
          );
        }}
      </QueryView>
      {edited !== null && <PermissionDialog key={edited} id={edited} onClose={() => setQueryParams({ edit: undefined })} />}
      {creating && <CreatePermission onClose={() => setCreating(false)} />}
    </>
  );
};
