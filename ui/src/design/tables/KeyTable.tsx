import type { ComponentChildren, JSX } from "preact";
import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import type { Pages } from "../../data/hooks/usePages.ts";
import { OutcomeBadge } from "../values/OutcomeBadge.tsx";
import { Time } from "../values/Time.tsx";
import { type Column, DataTable } from "./DataTable.tsx";

const stateOf = ({ enabled, expires }: Key): string => {
  if (!enabled) return "disabled";
  return expires !== undefined && Number(expires) < Date.now() ? "expired" : "enabled";
};

export interface KeyTableProps {
  readonly label: string;
  readonly keys: readonly Key[];
  readonly pages: Pick<Pages<Key>, "hasMore" | "loadingMore" | "loadMore">;
  /** One more column, where a table says why a key is in it. */
  readonly because?: { readonly label: string; readonly cell: (key: Key) => ComponentChildren };
}

/** Keys of several APIs, as `keys.searchKeys` finds them. */
export const KeyTable = ({ label, keys, pages, because }: KeyTableProps): JSX.Element => {
  const columns: readonly Column<Key>[] = [
    {
      id: "name",
      label: "Name",
      narrow: true,
      cell: ({ keyId, name }) => <a href={`/ui/keys/${encodeURIComponent(keyId)}`}>{name ?? keyId}</a>,
    },
    ...(because === undefined ? [] : [{ id: "because", narrow: true, ...because } as const]),
    { id: "start", label: "Begins with", cell: ({ start }) => <code>{start === "" ? "–" : `${start}…`}</code> },
    {
      id: "state",
      label: "State",
      ...(because === undefined ? { narrow: true } : {}),
      cell: (key) => <OutcomeBadge outcome={stateOf(key)} />,
    },
    {
      id: "apiId",
      label: "API",
      cell: ({ apiId = "" }) => (
        <a href={`/ui/apis/${encodeURIComponent(apiId)}`}>
          <code>{apiId}</code>
        </a>
      ),
    },
    { id: "roles", label: "Roles", optional: true, cell: ({ roles }) => roles.join(", ") || <span class="quiet">none</span> },
    { id: "externalId", label: "Identity", optional: true, cell: ({ identity }) => identity?.externalId ?? <span class="quiet">–</span> },
    { id: "expires", label: "Expires", optional: true, cell: ({ expires }) => <Time at={expires} none="never" /> },
    { id: "lastUsedAt", label: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} none="never" relative /> },
  ];
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={keys}
      rowKey={({ keyId }) => keyId}
      more={pages.hasMore ? { loading: pages.loadingMore, load: pages.loadMore } : undefined}
    />
  );
};
