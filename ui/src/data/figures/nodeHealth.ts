import type { Node } from "../../../../gen/latchkey/v2/nodes_pb.ts";

/** Milliseconds without a word of a node that writes every 5 s (management §7). */
const silent = 15_000;

/** Milliseconds behind the changes of other nodes. */
const behind = 5000;

/** Milliseconds that a timer was late. */
const late = 250;

const seconds = (milliseconds: bigint): string => `${milliseconds / 1000n} s`;

/**
 * Lists the problems of a node, in a few words each. Empty: the node is healthy.
 * @param latest Unix ms, the latest report of any node, by the clocks of the nodes: the reader's clock may differ
 */
export const nodeTroubles = (node: Node, latest: bigint): readonly string[] => {
  const { store, analytics, lastSeenAt, changesLagMs, eventLoopLagMs } = node;
  const unheard = latest - lastSeenAt;
  return [
    unheard > silent ? `silent for ${seconds(unheard)}` : "",
    store?.up === false ? "store down" : "",
    analytics !== undefined && analytics.kind !== "none" && !analytics.up ? "analytics down" : "",
    analytics !== undefined && analytics.dropped > 0n ? `${analytics.dropped.toLocaleString("en")} events lost` : "",
    changesLagMs > behind ? `changes ${seconds(changesLagMs)} behind` : "",
    eventLoopLagMs > late ? `timers ${eventLoopLagMs} ms late` : "",
  ].filter((trouble) => trouble !== "");
};

/** When any of them was heard of last, Unix ms; 0 for none. */
export const latestSign = (nodes: readonly Node[]): bigint => BigInt(Math.max(0, ...nodes.map(({ lastSeenAt }) => Number(lastSeenAt))));
