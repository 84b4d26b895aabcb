import type { JSX } from "preact";
import type { Node } from "../../../../gen/latchkey/v2/nodes_pb.ts";
import { nodeTroubles } from "../../data/figures/nodeHealth.ts";
import type { NodeHistory } from "../../data/figures/nodeHistory.ts";
import { Sparkline } from "../../design/charts/Sparkline.tsx";
import type { Column } from "../../design/tables/DataTable.tsx";
import { Int64 } from "../../design/values/Int64.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import { Time } from "../../design/values/Time.tsx";

const mebibyte = 1_048_576;

/** "3.2 MiB" */
const mebibytes = (bytes: bigint): string => `${(Number(bytes) / mebibyte).toLocaleString("en", { maximumFractionDigits: 1 })} MiB`;

/** "embedded, 2 ms", or words when the store is down. */
const reached = (kind: string | undefined, up: boolean | undefined, more: string): string =>
  `${kind ?? ""}${up === false ? ", unavailable" : more}`;

const Health = ({ node, latest }: { readonly node: Node; readonly latest: bigint }): JSX.Element => {
  const troubles = nodeTroubles(node, latest);
  return (
    <>
      {(troubles.length === 0 ? ["healthy"] : troubles).map((text) => (
        <OutcomeBadge key={text} outcome={text} />
      ))}
    </>
  );
};

/** The columns of a node's report. @param latest Unix ms, the latest report of any node */
export const nodeColumns = (history: NodeHistory, latest: bigint): readonly Column<Node>[] => [
  { id: "host", label: "Machine", narrow: true, cell: ({ host }) => host },
  { id: "health", label: "Health", narrow: true, cell: (node) => <Health node={node} latest={latest} /> },
  {
    id: "verificationsPerSecond",
    label: "Verifications per second",
    cell: ({ nodeId, verificationsPerSecond }) => (
      <Sparkline
        values={history.get(nodeId) ?? []}
        of="per second, since this page was opened"
        figure={verificationsPerSecond.toLocaleString("en")}
      />
    ),
  },
  { id: "limitsPerSecond", label: "Limits per second", number: true, cell: ({ limitsPerSecond }) => <Int64 value={limitsPerSecond} /> },
  { id: "inFlight", label: "Calls in flight", number: true, cell: ({ inFlight }) => <Int64 value={inFlight} /> },
  { id: "store", label: "Store", cell: ({ store }) => reached(store?.kind, store?.up, `, ${store?.latencyMs} ms`) },
  {
    id: "analytics",
    label: "Analytics",
    cell: ({ analytics }) => (analytics?.kind === "none" ? "off" : reached(analytics?.kind, analytics?.up, "")),
  },
  {
    id: "dropped",
    label: "Events lost",
    number: true,
    optional: true,
    cell: ({ analytics }) => <Int64 value={analytics?.dropped ?? 0n} />,
  },
  { id: "changesLagMs", label: "Behind by", number: true, cell: ({ changesLagMs }) => `${changesLagMs.toLocaleString("en")} ms` },
  {
    id: "eventLoopLagMs",
    label: "Event loop lag",
    number: true,
    optional: true,
    cell: ({ eventLoopLagMs }) => `${eventLoopLagMs.toLocaleString("en")} ms`,
  },
  { id: "cacheEntries", label: "Cache entries", number: true, optional: true, cell: ({ cacheEntries }) => <Int64 value={cacheEntries} /> },
  { id: "cacheBytes", label: "Cache", number: true, cell: ({ cacheBytes }) => mebibytes(cacheBytes) },
  { id: "version", label: "Version", cell: ({ version }) => version },
  { id: "startedAt", label: "Started", cell: ({ startedAt }) => <Time at={startedAt} relative /> },
  { id: "lastSeenAt", label: "Heard of", optional: true, cell: ({ lastSeenAt }) => <Time at={lastSeenAt} relative /> },
  { id: "nodeId", label: "ID", optional: true, cell: ({ nodeId }) => <code>{nodeId}</code> },
];
