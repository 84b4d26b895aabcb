import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { AnalyticsService, UsageGranularity, UsageKind } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { type Namespace, RatelimitService } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { snippet } from "../../data/code/snippets.ts";
import { countLines, type UsageSeries } from "../../data/figures/usageRows.ts";
import { useNow } from "../../data/hooks/useNow.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { Button } from "../../design/actions/Button.tsx";
import { Sparkline } from "../../design/charts/Sparkline.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { CheckLimit } from "../../design/forms/CheckLimit.tsx";
import { SearchField } from "../../design/forms/SearchField.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { announce } from "../../design/states/announcements.ts";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { Time } from "../../design/values/Time.tsx";
import { queryParams } from "../../router/address.ts";
import { usePageCommands } from "../../router/pageCommands.ts";

const { listNamespaces, limit } = RatelimitService.method;
const hour = 3_600_000;

type Line = UsageSeries["values"];

/** Checks of the last 24 hours by namespace, an hour each. @param passed only those with this result; undefined: all */
const useChecks = (ids: readonly string[], passed?: boolean): ReadonlyMap<string, Line> => {
  const end = useNow(hour) + hour;
  const { data } = useQuery(
    AnalyticsService.method.getUsage,
    {
      kind: UsageKind.RATELIMITS,
      start: BigInt(end - 24 * hour),
      end: BigInt(end),
      granularity: UsageGranularity.HOUR,
      groupBy: ["namespaceId"],
      filter: { namespaceId: { values: [...ids] }, ...(passed === undefined ? {} : { passed: { values: [passed] } }) },
    },
    { enabled: ids.length > 0, asOf: end },
  );
  return new Map(countLines(data?.data ?? [], "namespaceId").series.map(({ name, values }) => [name, values]));
};

const spark = (line: Line | undefined, of: string): JSX.Element =>
  line === undefined ? (
    <span class="quiet">–</span>
  ) : (
    <Sparkline values={line.map((value) => value ?? 0)} of={`${of} in the last 24 hours`} />
  );

const columns = (checks: ReadonlyMap<string, Line>, denials: ReadonlyMap<string, Line>): readonly Column<Namespace>[] => [
  { id: "name", label: "Name", narrow: true, cell: ({ id, name }) => <a href={`/ui/limits/${encodeURIComponent(id)}`}>{name}</a> },
  { id: "id", label: "ID", cell: ({ id }) => <code>{id}</code> },
  { id: "checks", label: "Checks, 24 h", narrow: true, cell: ({ id }) => spark(checks.get(id), "checks") },
  { id: "denials", label: "Denied, 24 h", cell: ({ id }) => spark(denials.get(id), "denied checks") },
  { id: "createdAt", label: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { id: "updatedAt", label: "Changed", optional: true, cell: ({ updatedAt }) => <Time at={updatedAt} none="never" /> },
];

/** `/ui/limits`: the namespaces that the session may read. */
export const Page = (): JSX.Element => {
  const search = queryParams.value.get("search") ?? "";
  const request = { search, limit: 100n };
  const namespaces = usePages(listNamespaces, request, (answer) => answer);
  const ids = (namespaces.data ?? []).slice(0, 100).map(({ id }) => id);
  const checks = useChecks(ids);
  const denials = useChecks(ids, false);
  const [trying, setTrying] = useState(false);
  const forbidden = missingReason(limit, { id: "*" });
  usePageCommands(forbidden === undefined ? [{ label: "Try a limit", run: () => setTrying(true) }] : []);

  const button = (
    <Button kind="primary" onClick={() => setTrying(true)} disabledBecause={forbidden}>
      Try a limit
    </Button>
  );
  return (
    <PageFrame
      title="Rate limits"
      actions={
        <>
          <CodeDrawer method={listNamespaces} request={request} />
          {button}
        </>
      }
    >
      <div class="filters">
        <SearchField label="Search" name="search" placeholder="Name or ID" />
      </div>
      <QueryView query={namespaces}>
        {(rows) => {
          if (rows.length > 0) {
            return (
              <DataTable
                label="Namespaces"
                columns={columns(checks, denials)}
                rows={rows}
                rowKey={({ id }) => id}
                more={namespaces.hasMore ? { loading: namespaces.loadingMore, load: namespaces.loadMore } : undefined}
              />
            );
          }
          if (search !== "") return <EmptyState>No namespace whose name or ID contains “{search}”.</EmptyState>;
          const first = { namespace: "logins", identifier: "user_1", limit: 10n, duration: 60_000n };
          return (
            <EmptyState action={button} code={snippet("curl", { method: limit, request: create(limit.input, first) }, location.origin)}>
              A namespace holds the limits of one purpose, and comes with its first check. There is none yet.
            </EmptyState>
          );
        }}
      </QueryView>
      {trying && (
        <Dialog title="Try a limit" onClose={() => setTrying(false)}>
          <CheckLimit
            onChecked={({ success, namespace, remaining }) => {
              setTrying(false);
              announce(`${success ? "Passed" : "Denied"} in ${namespace}: ${remaining.toLocaleString("en")} left.`);
              namespaces.reload();
            }}
          />
        </Dialog>
      )}
    </PageFrame>
  );
};
