import type { JSX } from "preact";
import { type Node, NodesService } from "../../../../gen/latchkey/v2/nodes_pb.ts";
import { latestSign, nodeTroubles } from "../../data/figures/nodeHealth.ts";
import { totalHistory } from "../../data/figures/nodeHistory.ts";
import { useNodes } from "../../data/hooks/useNodes.ts";
import { Sparkline } from "../../design/charts/Sparkline.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import { Figures } from "./Figures.tsx";
import { Panel } from "./Panel.tsx";

const sum = (nodes: readonly Node[], of: (node: Node) => bigint): string =>
  nodes.reduce((total, node) => total + of(node), 0n).toLocaleString("en");

/** The present activity of all nodes, and the unhealthy ones. */
export const NowPanel = (): JSX.Element => {
  const { query, history } = useNodes();
  return (
    <Panel title="Now" wide kind="now" actions={<CodeDrawer method={NodesService.method.listNodes} request={{}} />}>
      <QueryView query={query} lines={2}>
        {({ data: nodes }) => {
          const latest = latestSign(nodes);
          const ill = nodes.flatMap((node) => {
            const troubles = nodeTroubles(node, latest);
            return troubles.length === 0 ? [] : [{ node, troubles }];
          });
          const rate = sum(nodes, ({ verificationsPerSecond }) => verificationsPerSecond);
          return (
            <>
              <Figures
                figures={[
                  {
                    name: "Verifications per second",
                    figure: <Sparkline values={totalHistory(history)} of="per second, since this page was opened" figure={rate} />,
                  },
                  { name: "Rate limit checks per second", figure: sum(nodes, ({ limitsPerSecond }) => limitsPerSecond) },
                  { name: "Calls in flight", figure: sum(nodes, ({ inFlight }) => inFlight) },
                  {
                    name: "Healthy nodes",
                    figure: (
                      <a href="/ui/nodes">
                        {nodes.length - ill.length} of {nodes.length}
                      </a>
                    ),
                  },
                ]}
              />
              {ill.length > 0 && (
                <ul class="troubles">
                  {ill.map(({ node, troubles }) => (
                    <li key={node.nodeId}>
                      <a href="/ui/nodes">{node.host}</a>{" "}
                      {troubles.map((trouble) => (
                        <OutcomeBadge key={trouble} outcome={trouble} />
                      ))}
                    </li>
                  ))}
                </ul>
              )}
            </>
          );
        }}
      </QueryView>
    </Panel>
  );
};
