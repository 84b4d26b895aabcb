import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { AnalyticsService, UsageGranularity, UsageKind } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { type Api, ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { snippet } from "../../data/code/snippets.ts";
import { countLines } from "../../data/figures/usageRows.ts";
import { useNow } from "../../data/hooks/useNow.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { Button } from "../../design/actions/Button.tsx";
import { Sparkline } from "../../design/charts/Sparkline.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { SearchField } from "../../design/forms/SearchField.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { Time } from "../../design/values/Time.tsx";
import { queryParams } from "../../router/address.ts";
import { usePageCommands } from "../../router/pageCommands.ts";
import { CreateApi } from "./CreateApi.tsx";

const { listApis, createApi } = ApisService.method;
const hour = 3_600_000;

/** Verifications of the last 24 hours by API, an hour each. */
const useVerifications = (ids: readonly string[]): ReadonlyMap<string, readonly (number | undefined)[]> => {
  const end = useNow(hour) + hour;
  const { data } = useQuery(
    AnalyticsService.method.getUsage,
    {
      kind: UsageKind.VERIFICATIONS,
      start: BigInt(end - 24 * hour),
      end: BigInt(end),
      granularity: UsageGranularity.HOUR,
      groupBy: ["apiId"],
      filter: { apiId: { values: [...ids] } },
    },
    { enabled: ids.length > 0, asOf: end },
  );
  return new Map(countLines(data?.data ?? [], "apiId").series.map(({ name, values }) => [name, values]));
};

const columns = (verifications: ReadonlyMap<string, readonly (number | undefined)[]>): readonly Column<Api>[] => [
  { id: "name", label: "Name", narrow: true, cell: ({ id, name }) => <a href={`/ui/apis/${encodeURIComponent(id)}`}>{name}</a> },
  { id: "id", label: "ID", cell: ({ id }) => <code>{id}</code> },
  {
    id: "verifications",
    label: "Verifications, 24 h",
    narrow: true,
    cell: ({ id }) => {
      const values = verifications.get(id);
      if (values === undefined) return <span class="quiet">–</span>;
      return <Sparkline values={values.map((value) => value ?? 0)} of="verifications in the last 24 hours" />;
    },
  },
  { id: "deleteProtection", label: "Protected", cell: ({ deleteProtection }) => (deleteProtection ? "yes" : "no") },
  {
    id: "ipAllowlist",
    label: "Addresses",
    optional: true,
    cell: ({ ipAllowlist }) => (ipAllowlist.length === 0 ? "any" : ipAllowlist.join(", ")),
  },
  { id: "createdAt", label: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { id: "updatedAt", label: "Changed", optional: true, cell: ({ updatedAt }) => <Time at={updatedAt} none="never" /> },
];

/** `/ui/apis`: the APIs that the session may read. */
export const Page = (): JSX.Element => {
  const search = queryParams.value.get("search") ?? "";
  const request = { search, limit: 100n };
  const apis = usePages(listApis, request, (answer) => answer);
  const verifications = useVerifications((apis.data ?? []).slice(0, 100).map(({ id }) => id));
  const [creating, setCreating] = useState(false);
  const forbidden = missingReason(createApi, {});
  usePageCommands(forbidden === undefined ? [{ label: "Create API", run: () => setCreating(true) }] : []);

  const button = (
    <Button kind="primary" onClick={() => setCreating(true)} disabledBecause={forbidden}>
      Create API
    </Button>
  );
  return (
    <PageFrame
      title="APIs"
      actions={
        <>
          <CodeDrawer method={listApis} request={request} />
          {button}
        </>
      }
    >
      <div class="filters">
        <SearchField label="Search" name="search" placeholder="Name or ID" />
      </div>
      <QueryView query={apis}>
        {(rows) => {
          if (rows.length > 0) {
            return (
              <DataTable
                label="APIs"
                columns={columns(verifications)}
                rows={rows}
                rowKey={({ id }) => id}
                more={apis.hasMore ? { loading: apis.loadingMore, load: apis.loadMore } : undefined}
              />
            );
          }
          if (search !== "") return <EmptyState>No API whose name or ID contains “{search}”.</EmptyState>;
          const call = { method: createApi, request: create(createApi.input, { name: "payments" }) };
          return (
            <EmptyState action={button} code={snippet("curl", call, location.origin)}>
              An API is a container of keys. There are none yet.
            </EmptyState>
          );
        }}
      </QueryView>
      {creating && <CreateApi onClose={() => setCreating(false)} />}
    </PageFrame>
  );
};
