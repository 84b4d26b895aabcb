import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { AnalyticsService, UsageKind } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { readRange } from "../../data/figures/timeRange.ts";
import { countLines, hasFigures } from "../../data/figures/usageRows.ts";
import { useNow } from "../../data/hooks/useNow.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { LazyChart } from "../../design/charts/LazyChart.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { RangeField } from "../../design/forms/RangeField.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { queryParams } from "../../router/address.ts";
import { setBrushedRange } from "../../router/setBrushedRange.ts";

const { getUsage } = AnalyticsService.method;

/** Verifications of an identity's keys over time, by outcome and by key. */
export const UsageTab = ({ identityId }: { readonly identityId: string }): JSX.Element => {
  const now = useNow(60_000);
  const request = { kind: UsageKind.VERIFICATIONS, ...readRange(queryParams.value, now), filter: { identityId: { values: [identityId] } } };
  const byOutcome = { ...request, groupBy: ["outcome"] };
  const outcomes = useQuery(getUsage, byOutcome, { asOf: now });
  const keys = useQuery(getUsage, { ...request, groupBy: ["keyId"], limit: 5n }, { asOf: now });
  const outcomeLines = useMemo(() => countLines(outcomes.data?.data ?? [], "outcome"), [outcomes.data]);
  const keyLines = useMemo(() => countLines(keys.data?.data ?? [], "keyId"), [keys.data]);
  return (
    <>
      <div class="filters">
        <RangeField />
        <CodeDrawer method={getUsage} request={byOutcome} />
      </div>
      <QueryView query={outcomes} lines={8}>
        {() =>
          hasFigures(outcomeLines) ? (
            <>
              <LazyChart title="Verifications by outcome" {...outcomeLines} onZoom={setBrushedRange} />
              {hasFigures(keyLines) && <LazyChart title="Verifications by key" {...keyLines} onZoom={setBrushedRange} />}
            </>
          ) : (
            <EmptyState>No key of this identity was verified in this time range.</EmptyState>
          )
        }
      </QueryView>
    </>
  );
};
