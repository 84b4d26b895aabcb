import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  NodeSchema,
  NodesServiceListNodesRequestSchema,
  NodesServiceListNodesResponseSchema,
} from "../../../gen/latchkey/v2/nodes_pb.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import type { Clock } from "../../domain/clock.ts";
import type { NodeDocument } from "../../storage/documents.ts";
import type { NodesRepository } from "../../storage/nodes.ts";
import type { Procedure } from "../call.ts";

export interface NodesDeps {
  readonly nodes: NodesRepository;
  /** The one by which nodes write their rows. */
  readonly nodesClock: Pick<Clock, "now">;
}

const showNode = ({ _id, store, analytics, ...node }: NodeDocument): MessageInitShape<typeof NodeSchema> => ({
  nodeId: _id,
  version: node.version,
  startedAt: BigInt(node.startedAt),
  lastSeenAt: BigInt(node.lastSeenAt),
  host: node.host,
  store: { ...store, latencyMs: BigInt(store.latencyMs) },
  changesLagMs: BigInt(node.changesLagMs),
  cacheEntries: BigInt(node.cacheEntries),
  cacheBytes: BigInt(node.cacheBytes),
  inFlight: BigInt(node.inFlight),
  verificationsPerSecond: BigInt(node.verificationsPerSecond),
  limitsPerSecond: BigInt(node.limitsPerSecond),
  eventLoopLagMs: BigInt(node.eventLoopLagMs),
  analytics: { ...analytics, dropped: BigInt(analytics.dropped) },
});

/** Lists all nodes that wrote their row within the last 60 s, those that started first in front (management §7). */
export const listNodes =
  ({ nodes, nodesClock }: NodesDeps): Procedure<typeof NodesServiceListNodesRequestSchema, typeof NodesServiceListNodesResponseSchema> =>
  async (_request, call) => {
    requirePermissions(call.caller, ["node.read_node", "*"]);
    return { data: (await nodes.list(nodesClock.now(), call)).map(showNode) };
  };
