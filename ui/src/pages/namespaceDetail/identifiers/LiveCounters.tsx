import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { type Counter, RatelimitService } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { snippet } from "../../../data/code/snippets.ts";
import { useNow } from "../../../data/hooks/useNow.ts";
import { useQuery } from "../../../data/hooks/useQuery.ts";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { SearchField } from "../../../design/forms/SearchField.tsx";
import { EmptyState } from "../../../design/states/EmptyState.tsx";
import { QueryView } from "../../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../../design/tables/DataTable.tsx";
import { formatDuration } from "../../../design/values/formatDuration.ts";
import { Int64 } from "../../../design/values/Int64.tsx";
import { Time } from "../../../design/values/Time.tsx";
import { queryParams } from "../../../router/address.ts";
import type { NamespaceNames } from "../readNamespace.ts";
import { TailLink } from "./identifierLinks.tsx";
import { WindowPicture } from "./WindowPicture.tsx";
import { type WindowShape, windowShape } from "./windowShape.ts";

const { listCounters, limit: limitMethod } = RatelimitService.method;

/** Milliseconds between two readings: counters are visible within 5 s (management §8). */
const pollEvery = 3000;

interface Row {
  readonly counter: Counter;
  readonly shape: WindowShape;
}

const rowOf = (counter: Counter, now: number): Row => ({
  counter,
  shape: windowShape(
    {
      duration: Number(counter.duration),
      current: Number(counter.current),
      previous: Number(counter.previous),
      reset: Number(counter.reset),
    },
    now,
  ),
});

const none = <span class="quiet">–</span>;

const columns = (namespaceId: string, most: number): readonly Column<Row>[] => [
  {
    id: "identifier",
    label: "Identifier",
    narrow: true,
    cell: ({ counter: { identifier } }) => <TailLink namespaceId={namespaceId} identifier={identifier} />,
  },
  { id: "duration", label: "Window", cell: ({ counter }) => formatDuration(counter.duration) },
  {
    id: "windows",
    label: "Previous and present window",
    cell: ({ counter, shape }) => (
      <WindowPicture shape={shape} most={most} limit={counter.limit === undefined ? undefined : Number(counter.limit)} />
    ),
  },
  { id: "used", label: "Used", number: true, narrow: true, cell: ({ shape }) => <Int64 value={shape.used} /> },
  {
    id: "limit",
    label: "Limit",
    number: true,
    cell: ({ counter: { limit } }) => (limit === undefined ? <span class="quiet">of each check</span> : <Int64 value={limit} />),
  },
  { id: "current", label: "Present", number: true, cell: ({ shape }) => <Int64 value={shape.current} /> },
  { id: "previous", label: "Before", number: true, cell: ({ shape }) => <Int64 value={shape.previous} /> },
  { id: "held", label: "Held", number: true, optional: true, cell: ({ counter }) => <Int64 value={counter.held} /> },
  {
    id: "remaining",
    label: "Left",
    number: true,
    optional: true,
    cell: ({ counter: { remaining } }) => (remaining === undefined ? none : <Int64 value={remaining} />),
  },
  { id: "reset", label: "Window ends", cell: ({ counter }) => <Time at={counter.reset} relative /> },
];

/** The counters that count now, with their windows drawn, read again every few seconds. */
export const LiveCounters = ({ namespace }: { readonly namespace: NamespaceNames }): JSX.Element => {
  const prefix = queryParams.value.get("identifier") ?? "";
  const request = { namespace: namespace.id, limit: 100n, ...(prefix === "" ? {} : { identifier: prefix }) };
  const counters = useQuery(listCounters, request, { pollEvery });
  const now = useNow(1000);
  return (
    <section class="answer" aria-labelledby="counters">
      <h2 id="counters">Live counters</h2>
      <div class="filters">
        <SearchField label="Begins with" name="identifier" placeholder="user_" />
        <CodeDrawer method={listCounters} request={request} />
      </div>
      <QueryView query={counters}>
        {({ data, pagination }) => {
          if (data.length > 0) {
            return (
              <>
                <DataTable
                  label="Counters"
                  columns={columns(namespace.id, Math.max(...data.flatMap(({ current, previous }) => [Number(current), Number(previous)])))}
                  rows={data.map((counter) => rowOf(counter, now))}
                  rowKey={({ counter }) => `${counter.duration} ${counter.identifier}`}
                />
                <p class="hint">
                  The frame is the sliding window: use before it no longer counts. Budget that nodes hold counts as used.
                  {pagination?.hasMore === true && " These are the first 100. Filter by prefix to see others."}
                </p>
              </>
            );
          }
          if (prefix !== "") return <EmptyState>No identifier that begins with “{prefix}” counts now.</EmptyState>;
          const check = create(limitMethod.input, { namespace: namespace.name, identifier: "user_1", limit: 10n, duration: 60_000n });
          return (
            <EmptyState
              action={
                <a class="button" href={`/ui/limits/${encodeURIComponent(namespace.id)}?tab=try`}>
                  Try a limit
                </a>
              }
              code={snippet("curl", { method: limitMethod, request: check }, location.origin)}
            >
              The present windows are empty.
            </EmptyState>
          );
        }}
      </QueryView>
    </section>
  );
};
