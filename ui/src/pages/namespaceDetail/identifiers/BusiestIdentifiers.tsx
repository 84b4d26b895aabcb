import type { JSX } from "preact";
import { AnalyticsService, UsageGranularity, UsageKind, UsageOrder } from "../../../../../gen/latchkey/v2/analytics_pb.ts";
import { readRange } from "../../../data/figures/timeRange.ts";
import { useNow } from "../../../data/hooks/useNow.ts";
import { useQuery } from "../../../data/hooks/useQuery.ts";
import { ShareBar } from "../../../design/charts/ShareBar.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { RangeField } from "../../../design/forms/RangeField.tsx";
import { EmptyState } from "../../../design/states/EmptyState.tsx";
import { QueryView } from "../../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../../design/tables/DataTable.tsx";
import { Int64 } from "../../../design/values/Int64.tsx";
import { queryParams } from "../../../router/address.ts";
import type { NamespaceNames } from "../readNamespace.ts";
import { type BusyIdentifier, busiestRows } from "./busiestRows.ts";
import { CountersLink } from "./identifierLinks.tsx";

/** Groups that are asked for: an identifier has one for what passed and one for what was denied. */
const most = 40n;

const { getUsage } = AnalyticsService.method;

const columns = (namespaceId: string, longest: number): readonly Column<BusyIdentifier>[] => [
  {
    id: "identifier",
    label: "Identifier",
    narrow: true,
    cell: ({ identifier }) => <CountersLink namespaceId={namespaceId} identifier={identifier} />,
  },
  {
    id: "share",
    label: "Passed and denied",
    cell: ({ passed, denied }) => <ShareBar part={denied} rest={passed} most={longest} />,
  },
  { id: "checks", label: "Checks", number: true, narrow: true, cell: ({ passed, denied }) => <Int64 value={passed + denied} /> },
  { id: "denied", label: "Denied", number: true, narrow: true, cell: ({ denied }) => <Int64 value={denied} /> },
  { id: "tokens", label: "Cost", number: true, optional: true, cell: ({ tokens }) => <Int64 value={tokens} /> },
];

/** The identifiers with most checks in a time range. */
export const BusiestIdentifiers = ({ namespace }: { readonly namespace: NamespaceNames }): JSX.Element => {
  const asOf = useNow(60_000);
  const { start, end } = readRange(queryParams.value, asOf);
  const request = {
    kind: UsageKind.RATELIMITS,
    start,
    end,
    granularity: UsageGranularity.TOTAL,
    groupBy: ["identifier", "passed"],
    filter: { namespaceId: { values: [namespace.id] } },
    orderBy: UsageOrder.COUNT,
    limit: most,
  };
  const usage = useQuery(getUsage, request, { asOf, ids: { namespace_id: namespace.id } });
  return (
    <section class="section" aria-labelledby="busiest">
      <h2 id="busiest">Busiest identifiers</h2>
      <div class="filters">
        <RangeField />
        <CodeDrawer method={getUsage} request={request} />
      </div>
      <QueryView query={usage}>
        {({ data }) => {
          const rows = busiestRows(data);
          if (rows.length === 0) return <EmptyState>No limit of this namespace was checked in this time.</EmptyState>;
          const longest = Math.max(...rows.map(({ passed, denied }) => passed + denied));
          return (
            <DataTable
              label="Busiest identifiers"
              columns={columns(namespace.id, longest)}
              rows={rows}
              rowKey={({ identifier }) => identifier}
            />
          );
        }}
      </QueryView>
    </section>
  );
};
