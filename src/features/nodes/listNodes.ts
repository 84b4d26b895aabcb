import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  NodeSchema,
  NodesServiceListNodesRequestSchema,
  NodesServiceListNodesResponseSchema,
} from "../../../gen/latchkey/v2/nodes_pb.ts";
import { requirePermissions } from "../../platform/authorization/authorization.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { NodeDocument } from "../../platform/storage/port/internalDocuments.ts";
import type { NodeFacts } from "../../platform/storage/port/nodeFacts.ts";
import type { Procedure } from "../calls/call.ts";
import type { NodesRepository } from "./nodesRepository.ts";

export interface NodesDeps {
  readonly nodes: NodesRepository;
  /** The one by which nodes write their rows. */
  readonly nodesClock: Pick<Clock, "now" | "monotonic">;
}

/** A row as a node of any version has written it: other versions may know more figures, or fewer. */
type AnyNode = Pick<NodeDocument, "_id"> &
  Partial<Omit<NodeFacts, "store" | "analytics">> & {
    readonly store?: Partial<NodeFacts["store"]>;
    readonly analytics?: Partial<NodeFacts["analytics"]>;
  };

/** 0 where the row has none. */
const figure = (value: number | undefined): bigint => (Number.isFinite(value) ? BigInt(Math.round(value ?? 0)) : 0n);

const showNode = ({ _id, store, analytics, ...node }: AnyNode): MessageInitShape<typeof NodeSchema> => ({
  nodeId: _id,
  version: node.version ?? "",
  startedAt: figure(node.startedAt),
  lastSeenAt: figure(node.lastSeenAt),
  host: node.host ?? "",
  store: { kind: store?.kind ?? "", up: store?.up ?? false, latencyMs: figure(store?.latencyMs) },
  changesLagMs: figure(node.changesLagMs),
  cacheEntries: figure(node.cacheEntries),
  cacheBytes: figure(node.cacheBytes),
  inFlight: figure(node.inFlight),
  verificationsPerSecond: figure(node.verificationsPerSecond),
  limitsPerSecond: figure(node.limitsPerSecond),
  eventLoopLagMs: figure(node.eventLoopLagMs),
  analytics: { kind: analytics?.kind ?? "none", up: analytics?.up ?? false, dropped: figure(analytics?.dropped) },
});

/** Lists all nodes that wrote their row within the last 60 s, those that started first in front (management §7). */
export const listNodes =
  ({ nodes, nodesClock }: NodesDeps): Procedure<typeof NodesServiceListNodesRequestSchema, typeof NodesServiceListNodesResponseSchema> =>
  async (_request, call) => {
    requirePermissions(call.caller, ["node.read_node", "*"]);
    return { data: (await nodes.list(nodesClock.now(), call)).map(showNode) };
  };
