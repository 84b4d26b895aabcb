import { create, type JsonObject } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { AnalyticsService, UsageGranularity, UsageKind } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { snippet } from "../../data/code/snippets.ts";
import { intervalLength, readRange } from "../../data/figures/timeRange.ts";
import { countLines, latencyLines } from "../../data/figures/usageRows.ts";
import { useNow } from "../../data/hooks/useNow.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { LazyChart } from "../../design/charts/LazyChart.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { RangeField } from "../../design/forms/RangeField.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { queryParams } from "../../router/address.ts";
import { setBrushedRange } from "../../router/setBrushedRange.ts";
import { DenialTable } from "./DenialTable.tsx";
import { Figures } from "./Figures.tsx";
import { countOutcomes, denialLines, rateLines } from "./outcomeFigures.ts";
import { Panel } from "./Panel.tsx";

const { getUsage } = AnalyticsService.method;
const { verifyKey } = KeysService.method;

/** Milliseconds between looks: events are there within 15 s, and the charts have minutes at least. */
const pollEvery = 60_000;

/** "4.2 ms" of a row's percentile. */
const latencyOf = (row: JsonObject | undefined, field: "latencyP50" | "latencyP95" | "latencyP99"): string => {
  const value = row?.[field];
  return typeof value === "number" ? `${value.toLocaleString("en", { maximumSignificantDigits: 3 })} ms` : "–";
};

/** Verifications, denials and latency over the chosen time. */
export const TrafficPanel = (): JSX.Element => {
  const asOf = useNow(60_000);
  const range = readRange(queryParams.value, asOf);
  const request = { kind: UsageKind.VERIFICATIONS, ...range };
  const byOutcome = { ...request, groupBy: ["outcome"] };
  const outcomes = useQuery(getUsage, byOutcome, { pollEvery, asOf });
  const latencies = useQuery(getUsage, request, { pollEvery, asOf });
  const whole = useQuery(getUsage, { ...request, granularity: UsageGranularity.TOTAL }, { pollEvery, asOf });
  const lines = useMemo(() => countLines(outcomes.data?.data ?? [], "outcome"), [outcomes.data]);
  const rates = useMemo(() => rateLines(lines, intervalLength(range.granularity) ?? 0, Date.now()), [lines]);
  const denials = useMemo(() => denialLines(lines), [lines]);
  const latency = useMemo(() => latencyLines(latencies.data?.data ?? []), [latencies.data]);
  const { total, denied, reasons } = countOutcomes(lines);
  const row = whole.data?.data[0];
  const unused = create(verifyKey.input, { key: "…" });
  return (
    <Panel title="Verifications" wide actions={<CodeDrawer method={getUsage} request={byOutcome} />}>
      <div class="filters">
        <RangeField />
      </div>
      <QueryView query={outcomes} lines={28}>
        {() =>
          total === 0 ? (
            <EmptyState
              action={<a href="/ui/apis">Open the APIs</a>}
              code={snippet("curl", { method: verifyKey, request: unused }, location.origin)}
            >
              No key was verified in this time range.
            </EmptyState>
          ) : (
            <>
              <Figures
                figures={[
                  { name: "Verifications", figure: total.toLocaleString("en") },
                  {
                    name: "Denied",
                    figure: denied.toLocaleString("en"),
                    note: (denied / total).toLocaleString("en", { style: "percent", maximumFractionDigits: 1 }),
                  },
                  { name: "Latency, median", figure: latencyOf(row, "latencyP50") },
                  { name: "95 of 100 within", figure: latencyOf(row, "latencyP95") },
                  { name: "99 of 100 within", figure: latencyOf(row, "latencyP99") },
                ]}
              />
              <div class="panels">
                <LazyChart title="Verifications per second" {...rates} onZoom={setBrushedRange} />
                <LazyChart title="Latency" {...latency} unit="ms" onZoom={setBrushedRange} />
                {denied > 0 && (
                  <>
                    <LazyChart title="Denials by reason" {...denials} onZoom={setBrushedRange} />
                    <DenialTable reasons={reasons} denied={denied} />
                  </>
                )}
              </div>
              {denied === 0 && <p class="quiet">Nothing was denied in this time.</p>}
            </>
          )
        }
      </QueryView>
    </Panel>
  );
};
