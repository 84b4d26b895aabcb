import type { JsonObject } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { AnalyticsService } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import type { TimeRange } from "../../data/figures/timeRange.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { BarList } from "../../design/charts/BarList.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { queryParams } from "../../router/address.ts";
import { FigureActions } from "./FigureActions.tsx";
import { rankingSql } from "./usageSql.ts";
import { type EventKind, type Ranked, rankedGroups, ranking, type UsageFilters } from "./usageView.ts";

export interface RankingProps {
  readonly kind: EventKind;
  readonly range: TimeRange;
  readonly filters: UsageFilters;
  /** The time that `range` was derived from, Unix ms. */
  readonly asOf: number;
  readonly by: Ranked;
}

/** The page with one filter more. */
const narrowed = (name: string, value: string): string => {
  const query = new URLSearchParams(queryParams.value);
  query.set(name, value);
  return `/ui/analytics?${query}`;
};

const nameOf = ({ id, none, page, singular }: Ranked, row: JsonObject, names: ReadonlyMap<string, string>): JSX.Element => {
  if (row.other === true) return <span class="quiet">all others</span>;
  const value = String(row[id] ?? "");
  if (value === "") return <span class="quiet">{none}</span>;
  const name = names.get(value);
  return (
    <>
      <a href={narrowed(id, value)} title={`Only this ${singular}`}>
        {name ?? value}
      </a>
      {page !== undefined && (
        <>
          {" "}
          <a class="quiet open-object" href={page(value)} aria-label={`Open ${name ?? value}`}>
            ↗
          </a>
        </>
      )}
    </>
  );
};

/** The groups with most events. Each name links to its own figures. */
export const Ranking = ({ kind, range, filters, asOf, by }: RankingProps): JSX.Element => {
  const request = ranking(kind, range, filters, by.id);
  const usage = useQuery(AnalyticsService.method.getUsage, request, { asOf });
  // Names only help: a person who may not list APIs sees their ids.
  const apis = useQuery(ApisService.method.listApis, { limit: 100n }, { enabled: by.id === "apiId" });
  const names = new Map((apis.data?.data ?? []).map(({ id, name }) => [id, name]));
  const title = `${kind.label} by ${by.id === "apiId" ? by.singular : by.singular.toLowerCase()}`;
  return (
    <QueryView query={usage} lines={6}>
      {({ data: rows }) => {
        const counted = rows.filter(({ count }) => count !== 0);
        if (counted.length === 0) return <EmptyState>Nothing was counted in this time.</EmptyState>;
        return (
          <>
            <BarList
              title={title}
              names={by.singular}
              values={kind.label}
              bars={counted.map((row) => ({
                key: row.other === true ? "other" : `of ${row[by.id]}`,
                name: nameOf(by, row, names),
                value: Number(row.count),
              }))}
            />
            {counted.length > rankedGroups && <p class="quiet">The {rankedGroups} with most events; the rest stands in the last line.</p>}
            <FigureActions title={title} request={request} sql={rankingSql(kind, range, filters, by.id)} view="table" rows={counted} />
          </>
        );
      }}
    </QueryView>
  );
};
