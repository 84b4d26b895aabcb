import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Role } from "../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { lacking, unseenBy } from "../../data/access/unseen.ts";
import { useLoad } from "../../data/hooks/useLoad.ts";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { SearchField } from "../../design/forms/SearchField.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { KeyTable } from "../../design/tables/KeyTable.tsx";
import { queryParams } from "../../router/address.ts";
import { type Holding, holdingsOf, isAnswer } from "./holders.ts";
import { readHolders } from "./readHolders.ts";

const roleColumns = (asked: string): readonly Column<Role>[] => [
  { id: "name", label: "Name", narrow: true, cell: ({ id, name }) => <a href={`/ui/access?role=${encodeURIComponent(id)}`}>{name}</a> },
  {
    id: "because",
    label: "Gives",
    narrow: true,
    cell: ({ permissions }) => (
      <code>
        {permissions
          .map(({ slug }) => slug)
          .filter((slug) => isAnswer(slug, asked))
          .join(", ")}
      </code>
    ),
  },
];

const holdingText = ({ slug, roles }: Holding): string => (roles.length === 0 ? slug : `${slug} (role ${roles.join(", ")})`);

const Answered = ({ asked }: { readonly asked: string }): JSX.Element => {
  const [pages, setPages] = useState(2);
  const unseen = unseenBy(KeysService.method.searchKeys);
  const holders = useLoad(`holders ${pages} ${asked}`, async (options) => ({
    message: await readHolders(asked, pages, options),
    etag: undefined,
  }));
  return (
    <QueryView query={holders}>
      {({ keys, roles, hasMore }) => (
        <>
          <p role="status">
            <strong>
              {hasMore ? "At least " : ""}
              {unseen.all ? "" : `${keys.length} ${keys.length === 1 ? "key" : "keys"} and `}
              {roles.length} {roles.length === 1 ? "role" : "roles"}
            </strong>{" "}
            hold <code>{asked}</code>
            {asked.endsWith("*") ? ", or a part of it" : ""}.
            {unseen.permissions.length > 0 &&
              ` ${unseen.all ? "Keys are not counted." : "Only keys that you may read are counted."} ${lacking(unseen)}`}
          </p>
          {roles.length > 0 && (
            <>
              <h2>Roles</h2>
              <DataTable label="Roles that hold it" columns={roleColumns(asked)} rows={roles} rowKey={({ id }) => id} />
            </>
          )}
          {(keys.length > 0 || hasMore) && (
            <>
              <h2>Keys</h2>
              <KeyTable
                label="Keys that hold it"
                keys={keys}
                pages={{ hasMore, loadingMore: holders.loading, loadMore: () => setPages(pages + 5) }}
                because={{
                  label: "Holds",
                  cell: (key) => <code>{holdingsOf(key, roles, asked).map(holdingText).join(", ")}</code>,
                }}
              />
            </>
          )}
        </>
      )}
    </QueryView>
  );
};

/** The keys that hold a permission, directly, by a wildcard above it, or through roles. */
export const HoldersTab = (): JSX.Element => {
  const asked = (queryParams.value.get("permission") ?? "").trim();
  return (
    <>
      <div class="filters">
        <SearchField label="Permission" name="permission" placeholder="invoices.*" />
        {asked !== "" && <CodeDrawer method={KeysService.method.searchKeys} request={{ permission: asked, limit: 100n }} />}
      </div>
      {asked === "" ? (
        <EmptyState>Type a permission, such as invoices.read or invoices.*, to see which keys and roles hold it.</EmptyState>
      ) : (
        <Answered key={asked} asked={asked} />
      )}
    </>
  );
};
