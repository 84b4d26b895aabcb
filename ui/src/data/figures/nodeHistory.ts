import type { Node } from "../../../../gen/latchkey/v2/nodes_pb.ts";

/** Verifications per second by node, oldest first, as far as this page has watched. */
export type NodeHistory = ReadonlyMap<string, readonly number[]>;

/** How many are kept: five minutes at a look every 5 s. */
const kept = 60;

/** Adds what the nodes said now; those that are gone are forgotten. */
export const addSample = (history: NodeHistory, nodes: readonly Node[]): NodeHistory =>
  new Map(
    nodes.map(({ nodeId, verificationsPerSecond }) => [
      nodeId,
      [...(history.get(nodeId) ?? []), Number(verificationsPerSecond)].slice(-kept),
    ]),
  );

/** All nodes together: a node that came later counts from then on. */
export const totalHistory = (history: NodeHistory): readonly number[] => {
  const lines = [...history.values()];
  const length = Math.max(0, ...lines.map((line) => line.length));
  return Array.from({ length }, (_, index) => lines.reduce((sum, line) => sum + (line[index - length + line.length] ?? 0), 0));
};
