import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../base/clock.ts";
import type { StoreLog } from "../port/storeLog.ts";
import type { StoreClock } from "../storeClock.ts";
import type { Link, ServerNode } from "./link.ts";
import { CounterServerUnusableError, toStoreError } from "./valkeyErrors.ts";

const BEAT_EVERY_MS = 1_000;
/** A node that has not answered for so long is taken for dead: the link is closed, and opened again by whoever is there now. */
const SILENT_MS = 3_000;
/** A cluster of which one node stays silent is not connected to again every three seconds. */
const LONGEST_SILENCE_MS = 60_000;
const OPEN_TIMEOUT_MS = 5_000;
const RETRY_MS = { least: 100, most: 1_000 } as const;

export interface ServersOptions {
  /** Connects, and rejects with `CounterServerUnusableError` when the server may not be used. */
  readonly open: () => Promise<Link>;
  /** Goes by the time of the first node. */
  readonly clock: StoreClock;
  readonly local: Clock;
  /** Called after each look at the clock. */
  readonly onLook: () => void;
  readonly log: StoreLog | undefined;
}

/** The counter server, however often the connection to it is lost. */
export interface Servers {
  /** The first attempt to connect. Rejects with why it failed; attempts go on then, unless `close` ends them. */
  readonly start: (signal: AbortSignal | undefined) => Promise<void>;
  /** Rejects with `StoreUnavailableError` when nothing was sent, else with what the client says. */
  readonly link: () => Link;
  readonly close: () => Promise<void>;
}

const inTime = async <T>(work: Promise<T>, milliseconds: number, what: string): Promise<T> => {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} within ${milliseconds} ms`)), milliseconds);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

/** Unix milliseconds of a server. */
const timeOf = async (node: ServerNode): Promise<number> => {
  const [seconds, microseconds] = (await node.send(["TIME"])) as readonly string[];
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
};

/**
 * Keeps a link to the server: opens it, asks every node for its time once a second, and opens another one when it is lost or a node
 * falls silent. The client's own reconnection would keep a dead connection until the kernel gives it up, minutes later.
 */
export const createServers = ({ open, clock, local, onLook, log }: ServersOptions): Servers => {
  const closing = new AbortController();
  let link: Link | undefined;
  let failure: Error = new Error("it was not connected to yet");
  /** Reasons that are in the log since the connection was lost. */
  const told = new Set<string>();
  let running: Promise<void> | undefined;

  const pause = (milliseconds: number): Promise<void> =>
    sleep(milliseconds, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);

  const fail = (error: unknown): void => {
    failure = error instanceof Error ? error : new Error(String(error));
    if (told.has(failure.message) || closing.signal.aborted) return;
    told.add(failure.message);
    log?.warn({ reason: failure.message }, "no connection to the counter server");
  };

  const openOnce = async (): Promise<Link> => {
    const opening = open();
    try {
      return await inTime(opening, OPEN_TIMEOUT_MS, "it did not answer");
    } catch (error) {
      opening.then(
        (late) => late.close(),
        () => undefined,
      );
      throw error;
    }
  };

  /** One look at every node. Rejects when one of them is silent; one that refuses, or is disconnected, is not. */
  const beat = async (current: Link, patience: number): Promise<void> => {
    const nodes = current.nodes();
    const look = async (node: ServerNode, i: number): Promise<void> => {
      const askedAt = local.monotonic();
      const time = await timeOf(node);
      if (i === 0) clock.learn({ time, askedAt, answeredAt: local.monotonic() });
    };
    const looks = nodes.map((node, i) =>
      inTime(
        look(node, i).catch(() => undefined),
        patience,
        `${node.name} did not answer`,
      ),
    );
    await Promise.all(looks);
    onLook();
  };

  /** @returns how long the next link's nodes may be silent */
  const watch = async (current: Link, patience: number): Promise<number> => {
    let isLost = false;
    const lost = current.lost.then((reason) => {
      isLost = true;
      fail(reason);
    });
    let next = patience;
    while (!isLost) {
      try {
        await Promise.race([lost, beat(current, patience)]);
        next = SILENT_MS;
      } catch (error) {
        next = Math.min(2 * patience, LONGEST_SILENCE_MS);
        current.close(error as Error);
      }
      await Promise.race([lost, pause(BEAT_EVERY_MS)]);
      if (closing.signal.aborted) break;
    }
    return next;
  };

  const run = async (first: Link | undefined): Promise<void> => {
    let patience = SILENT_MS;
    let retry: number = RETRY_MS.least;
    for (let opened = first; !closing.signal.aborted; opened = undefined) {
      try {
        opened ??= await openOnce();
      } catch (error) {
        fail(error);
        await pause(retry);
        retry = Math.min(2 * retry, RETRY_MS.most);
        continue;
      }
      link = opened;
      retry = RETRY_MS.least;
      if (told.size > 0) log?.info({}, "connected to the counter server");
      told.clear();
      patience = await watch(opened, patience);
      link = undefined;
      opened.close();
    }
  };

  return {
    start: async (signal) => {
      signal?.throwIfAborted();
      let first: Link | undefined;
      try {
        first = await openOnce();
        await beat(first, SILENT_MS);
      } catch (error) {
        first?.close();
        first = undefined;
        if (error instanceof CounterServerUnusableError) throw error;
        fail(error);
      }
      signal?.throwIfAborted();
      running ??= run(first);
      if (first === undefined) throw toStoreError(failure, "read");
    },
    link: () => {
      if (link === undefined) throw toStoreError(failure, "read");
      return link;
    },
    close: async () => {
      closing.abort();
      link?.close();
      await running;
    },
  };
};
