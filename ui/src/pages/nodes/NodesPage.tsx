import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { NodesService } from "../../../../gen/latchkey/v2/nodes_pb.ts";
import { snippet } from "../../data/code/snippets.ts";
import { latestSign } from "../../data/figures/nodeHealth.ts";
import { useNodes } from "../../data/hooks/useNodes.ts";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { DataTable } from "../../design/tables/DataTable.tsx";
import { nodeColumns } from "./nodeColumns.tsx";

const { listNodes } = NodesService.method;

/** `/ui/nodes`: the processes that serve this store, by their reports of the last minute. */
export const Page = (): JSX.Element => {
  const { query, history } = useNodes();
  return (
    <PageFrame title="Nodes" actions={<CodeDrawer method={listNodes} request={{}} />}>
      <p class="quiet">Each node tells of itself every 5 seconds; one that is silent for a minute is gone from here.</p>
      <QueryView query={query}>
        {({ data: nodes }) =>
          nodes.length === 0 ? (
            <EmptyState code={snippet("curl", { method: listNodes, request: create(listNodes.input) }, location.origin)}>
              No node has reported within the last minute.
            </EmptyState>
          ) : (
            <DataTable label="Nodes" columns={nodeColumns(history, latestSign(nodes))} rows={nodes} rowKey={({ nodeId }) => nodeId} />
          )
        }
      </QueryView>
    </PageFrame>
  );
};
