import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Role } from "../../../../gen/latchkey/v2/common_pb.ts";
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
import { CreateRole } from "./CreateRole.tsx";
import { RoleDialog } from "./RoleDialog.tsx";

const { listRoles, createRole } = PermissionsService.method;

const columns: readonly Column<Role>[] = [
  { id: "name", label: "Name", narrow: true, cell: ({ id, name }) => <a href={`/ui/access?role=${encodeURIComponent(id)}`}>{name}</a> },
  { id: "description", label: "Description", cell: ({ description }) => description ?? <span class="quiet">none</span> },
  { id: "count", label: "Gives", narrow: true, number: true, cell: ({ permissions }) => permissions.length },
  {
    id: "permissions",
    label: "Permissions",
    cell: ({ permissions }) =>
      permissions.length === 0 ? <span class="quiet">none</span> : <code>{permissions.map(({ slug }) => slug).join(", ")}</code>,
  },
  { id: "id", label: "ID", optional: true, cell: ({ id }) => <code>{id}</code> },
];

/** Lists roles, and makes new ones. */
export const RolesTab = (): JSX.Element => {
  const search = queryParams.value.get("search") ?? "";
  const shown = queryParams.value.get("role");
  const request = { search, limit: 100n };
  const roles = usePages(listRoles, request, (answer) => answer);
  const [creating, setCreating] = useState(false);
  const forbidden = missingReason(createRole, {});
  usePageCommands(forbidden === undefined ? [{ label: "Create role", run: () => setCreating(true) }] : []);

  const button = (
    <Button kind="primary" onClick={() => setCreating(true)} disabledBecause={forbidden}>
      Create role
    </Button>
  );
  return (
    <>
      <div class="filters">
        <SearchField label="Search" name="search" placeholder="Name, ID or description" />
        <div class="actions">
          <CodeDrawer method={listRoles} request={request} />
          {button}
        </div>
      </div>
      <QueryView query={roles}>
        {(rows) => {
          if (rows.length > 0) {
            return (
              <DataTable
                label="Roles"
                columns={columns}
                rows={rows}
                rowKey={({ id }) => id}
                more={roles.hasMore ? { loading: roles.loadingMore, load: roles.loadMore } : undefined}
              />
            );
          }
          if (search !== "") return <EmptyState>No role that contains “{search}”.</EmptyState>;
          const call = { method: createRole, request: create(createRole.input, { name: "accountant", permissions: ["invoices.*"] }) };
          return (
            <EmptyState action={button} code={snippet("curl", call, location.origin)}>
              A role grants its permissions to every key that has it. There are none yet.
            </EmptyState>
          );
        }}
      </QueryView>
      {shown !== null && <RoleDialog key={shown} id={shown} onClose={() => setQueryParams({ role: undefined })} />}
      {creating && <CreateRole onClose={() => setCreating(false)} />}
    </>
  );
};
