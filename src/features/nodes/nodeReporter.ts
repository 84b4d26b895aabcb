import type { Clock } from "../../platform/base/clock.ts";
import type { NodeRow, NodesRepository } from "./nodesRepository.ts";

const WRITE_EVERY_MS = 5_000;
/** No rate is told of less. */
const RATED_MS = 1_000;
/** Between two looks at how late a timer is. */
const TICK_MS = 500;

/** What a node counts since it was started. */
export interface NodeTotals {
  readonly verifications: number;
  readonly limits: number;
}

/** What is known of the node when its row is written. */
export type NodeFigures = Pick<NodeRow, "changesLagMs" | "cacheEntries" | "cacheBytes" | "inFlight" | "analytics"> & {
  readonly storeUp: boolean;
  readonly totals: NodeTotals;
};

export interface NodeReporter {
  /** Writes the first row, then one every 5 s. Resolves when the first is written, or could not be. */
  readonly start: () => Promise<void>;
  /** Waits for a row that is being written, and takes it away: in the time of three store operations at most. */
  readonly stop: () => Promise<void>;
}

export interface NodeReporterOptions {
  /** The one that all nodes share. */
  readonly clock: Clock;
  readonly nodes: Pick<NodesRepository, "write" | "remove">;
  readonly node: Pick<NodeRow, "_id" | "version" | "host" | "auditFormat"> & { readonly storeKind: string };
  readonly figures: () => NodeFigures;
  /** Asks the store, so that its latency is known. */
  readonly ping: () => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** Tells the others, through the store, that this node lives and how it does (management §7). Never fails. */
export const createNodeReporter = ({ clock, nodes, node, figures, ping, onError }: NodeReporterOptions): NodeReporter => {
  const { storeKind, ...fixed } = node;
  let startedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  /** Monotonic ms and totals of the last row. */
  let last = { at: 0, totals: { verifications: 0, limits: 0 } as NodeTotals };
  let latest = 0;

  const write = async (): Promise<void> => {
    const asked = clock.monotonic();
    await ping();
    const at = clock.monotonic();
    const latencyMs = Math.round(at - asked);
    const { totals, storeUp, ...others } = figures();
    const perSecond = (count: number): number => (at - last.at < RATED_MS ? 0 : Math.round((count * 1_000) / (at - last.at)));
    const row: NodeRow = {
      ...fixed,
      ...others,
      startedAt,
      lastSeenAt: clock.now(),
      store: { kind: storeKind, up: storeUp, latencyMs },
      verificationsPerSecond: perSecond(totals.verifications - last.totals.verifications),
      limitsPerSecond: perSecond(totals.limits - last.totals.limits),
      eventLoopLagMs: Math.round(latest),
    };
    last = { at, totals };
    latest = 0;
    await nodes.write(row);
  };

  const report = (): Promise<void> => {
    writing ??= write()
      .catch(onError)
      .finally(() => {
        writing = undefined;
      });
    return writing;
  };

  const tick = (begun: number): void => {
    timer = setTimeout(() => {
      const now = clock.monotonic();
      latest = Math.max(latest, now - begun - TICK_MS);
      if (now - last.at >= WRITE_EVERY_MS - TICK_MS / 2) void report();
      tick(now);
    }, TICK_MS).unref();
  };

  return {
    start: async () => {
      startedAt = clock.now();
      last = { at: clock.monotonic(), totals: figures().totals };
      tick(last.at);
      await report();
    },
    stop: async () => {
      clearTimeout(timer);
      await writing;
      await nodes.remove(fixed._id).catch(onError);
    },
  };
};
