import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { AnalyticsService, UsageGranularity, UsageKind } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { snippet } from "../../data/code/snippets.ts";
import { countLines } from "../../data/figures/usageRows.ts";
import { useNow } from "../../data/hooks/useNow.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { LazyChart } from "../../design/charts/LazyChart.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { Int64 } from "../../design/values/Int64.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import type { KeyTabProps } from "./useKey.ts";

const { getUsage } = AnalyticsService.method;
const { verifyKey } = KeysService.method;
const hour = 3_600_000;

/** Of any key: the secret is masked. */
const verification = { method: verifyKey, request: create(verifyKey.input, { key: "a key" }) };

interface Row {
  readonly outcome: string;
  readonly count: number;
}

const columns: readonly Column<Row>[] = [
  { id: "outcome", label: "Outcome", narrow: true, cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
  { id: "count", label: "Verifications", narrow: true, number: true, cell: ({ count }) => <Int64 value={count} /> },
  {
    id: "explain",
    label: "Why",
    narrow: true,
    // A verification that passed has nothing to explain.
    cell: ({ outcome }) =>
      outcome === "VALID" ? (
        ""
      ) : (
        <a href="?tab=explain" aria-label={`Explain ${outcome}`}>
          Explain
        </a>
      ),
  },
];

/** The last 36 hours of the key: outcomes by the hour, and the reasons of its denials. */
export const ActivityTab = ({ stored: { keyId }, api }: KeyTabProps): JSX.Element => {
  const end = useNow(hour) + hour;
  const request = {
    kind: UsageKind.VERIFICATIONS,
    start: BigInt(end - 36 * hour),
    end: BigInt(end),
    granularity: UsageGranularity.HOUR,
    groupBy: ["outcome"],
    filter: { keyId: { values: [keyId] } },
  };
  const usage = useQuery(getUsage, request, { asOf: end, ...(api === undefined ? {} : { ids: { api_id: api.id } }) });
  const lines = useMemo(() => countLines(usage.data?.data ?? [], "outcome"), [usage.data]);
  const rows = lines.series
    .map(({ name, values }) => ({ outcome: name, count: values.reduce((sum: number, value) => sum + (value ?? 0), 0) }))
    .filter(({ outcome, count }) => outcome !== "" && count > 0);
  return (
    <>
      <div class="filters">
        <p class="quiet">The last 36 hours.</p>
        <CodeDrawer method={getUsage} request={request} />
      </div>
      <QueryView query={usage} lines={8}>
        {() =>
          rows.length === 0 ? (
            <EmptyState action={<a href="?tab=try">Try the key</a>} code={snippet("curl", verification, location.origin)}>
              This key was not verified in the last 36 hours.
            </EmptyState>
          ) : (
            <>
              <LazyChart title="Verifications by outcome" {...lines} />
              <DataTable label="Outcomes" columns={columns} rows={rows} rowKey={({ outcome }) => outcome} />
            </>
          )
        }
      </QueryView>
    </>
  );
};
