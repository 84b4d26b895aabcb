import { useEffect, useState } from "preact/hooks";
import { NodesService, type NodesServiceListNodesResponse } from "../../../../gen/latchkey/v2/nodes_pb.ts";
import { addSample, type NodeHistory } from "../figures/nodeHistory.ts";
import type { Query } from "./useLoad.ts";
import { useQuery } from "./useQuery.ts";

/** Milliseconds between polls: nodes report at the same interval (management §7). */
const lookEvery = 5000;

/** The nodes as they are now, and what they did since this page is shown. */
export const useNodes = (): { readonly query: Query<NodesServiceListNodesResponse>; readonly history: NodeHistory } => {
  const query = useQuery(NodesService.method.listNodes, {}, { pollEvery: lookEvery });
  const [history, setHistory] = useState<NodeHistory>(new Map());
  const { data } = query;
  useEffect(() => {
    if (data !== undefined) setHistory((before) => addSample(before, data.data));
  }, [data]);
  return { query, history };
};
