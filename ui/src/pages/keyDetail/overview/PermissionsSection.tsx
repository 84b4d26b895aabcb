import type { JSX } from "preact";
import { type ExplainedGrant, GrantVia } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { QueryView } from "../../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../../design/tables/DataTable.tsx";
import type { KeyTabProps } from "../useKey.ts";
import { useSources } from "../useSources.ts";

/** The source of a permission: "the key", "role admin", and the wildcard that covers it. */
export const grantText = ({ slug, via, role = "" }: ExplainedGrant, permission: string): string => {
  const holder = via === GrantVia.ROLE ? `role ${role}` : "the key";
  return slug === permission ? holder : `${holder}, through ${slug}`;
};

interface Row {
  readonly permission: string;
  readonly grants: readonly ExplainedGrant[] | undefined;
}

const columns: readonly Column<Row>[] = [
  { id: "permission", label: "Permission", narrow: true, cell: ({ permission }) => <code>{permission}</code> },
  {
    id: "from",
    label: "From",
    narrow: true,
    cell: ({ permission, grants }) =>
      grants === undefined ? <span class="quiet">–</span> : grants.map((grant) => grantText(grant, permission)).join("; "),
  },
];

/** Roles, and effective permissions with what gives each of them. */
export const PermissionsSection = ({ stored }: KeyTabProps): JSX.Element => {
  const sources = useSources(stored);
  const { roles, permissions } = stored;
  return (
    <section class="section" aria-labelledby="key-permissions">
      <h2 id="key-permissions">Roles and permissions</h2>
      <p>{roles.length === 0 ? <span class="quiet">No roles.</span> : `Roles: ${roles.join(", ")}`}</p>
      {permissions.length === 0 ? (
        <p class="quiet">No permissions.</p>
      ) : (
        <QueryView query={sources} lines={permissions.length}>
          {(known) => (
            <DataTable
              label="Effective permissions"
              columns={columns}
              rows={permissions.map((permission) => ({ permission, grants: known.get(permission) }))}
              rowKey={({ permission }) => permission}
            />
          )}
        </QueryView>
      )}
    </section>
  );
};
