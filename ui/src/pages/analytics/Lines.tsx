import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { AnalyticsService } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { RatelimitService } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { snippet } from "../../data/code/snippets.ts";
import type { TimeRange } from "../../data/figures/timeRange.ts";
import { countLines, latencyLines, type UsageLines } from "../../data/figures/usageRows.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { Button } from "../../design/actions/Button.tsx";
import { LazyChart } from "../../design/charts/LazyChart.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { setQueryParams } from "../../router/address.ts";
import { setBrushedRange } from "../../router/setBrushedRange.ts";
import { FigureActions } from "./FigureActions.tsx";
import { latencySql, linesSql } from "./usageSql.ts";
import { type EventKind, overTime, type UsageFilters } from "./usageView.ts";

const { getUsage } = AnalyticsService.method;

const sum = (values: readonly (number | undefined)[]): number => values.reduce<number>((total, value) => total + (value ?? 0), 0);

const words: Readonly<Record<string, string>> = { true: "passed", false: "denied" };

/** `passed: true` in words; outcomes are words. */
const named = ({ times, series }: UsageLines): UsageLines => ({
  times,
  series: series.map(({ name, values }) => ({ name: words[name] ?? name, values })),
});

/** "1,204 verifications, 93 % of them VALID". */
const summary = (kind: EventKind, { series }: UsageLines): string => {
  const total = series.reduce((count, { values }) => count + sum(values), 0);
  const good = kind.id === "verifications" ? "VALID" : "passed";
  const share = sum(series.find(({ name }) => name === good)?.values ?? []) / total;
  return `${total.toLocaleString("en")} ${kind.label.toLowerCase()}, ${share.toLocaleString("en", { style: "percent", maximumFractionDigits: 1 })} ${good}`;
};

const firstCall = ({ id }: EventKind): string => {
  const { verifyKey } = KeysService.method;
  const { limit } = RatelimitService.method;
  const call =
    id === "verifications"
      ? { method: verifyKey, request: create(verifyKey.input, { key: "…" }) }
      : { method: limit, request: create(limit.input, { namespace: "logins", identifier: "ada", limit: 10n, duration: 60_000n }) };
  return snippet("curl", call, location.origin);
};

export interface LinesProps {
  readonly kind: EventKind;
  readonly range: TimeRange;
  readonly filters: UsageFilters;
  /** The time that `range` was derived from, Unix ms. */
  readonly asOf: number;
}

/** Outcomes and percentiles over time; brushing one zooms the page. */
export const Lines = ({ kind, range, filters, asOf }: LinesProps): JSX.Element => {
  const byLine = overTime(kind, range, filters, kind.lines.by);
  const together = overTime(kind, range, filters);
  const outcomes = useQuery(getUsage, byLine, { asOf });
  const totals = useQuery(getUsage, together, { enabled: kind.hasLatency, asOf });
  const lines = useMemo(() => named(countLines(outcomes.data?.data ?? [], kind.lines.by)), [outcomes.data, kind]);
  const latency = useMemo(() => latencyLines(totals.data?.data ?? []), [totals.data]);
  return (
    <QueryView query={outcomes} lines={8}>
      {({ data: rows }) => {
        if (lines.series.every(({ values }) => sum(values) === 0)) {
          const button = <Button onClick={() => setQueryParams({ range: "30d", start: undefined, end: undefined })}>Show 30 days</Button>;
          return (
            <EmptyState action={button} code={firstCall(kind)}>
              No {kind.label.toLowerCase()} match in this time range.
            </EmptyState>
          );
        }
        return (
          <>
            <p>{summary(kind, lines)}</p>
            <LazyChart title={kind.lines.title} {...lines} onZoom={setBrushedRange} />
            <FigureActions title={kind.lines.title} request={byLine} sql={linesSql(kind, range, filters)} view="chart" rows={rows} />
            {latency.series.some(({ values }) => values.some((value) => value !== undefined)) && (
              <>
                <LazyChart title="Latency" {...latency} unit="ms" onZoom={setBrushedRange} />
                <FigureActions
                  title="Latency"
                  request={together}
                  sql={latencySql(kind, range, filters)}
                  view="chart"
                  rows={totals.data?.data ?? []}
                />
              </>
            )}
          </>
        );
      }}
    </QueryView>
  );
};
