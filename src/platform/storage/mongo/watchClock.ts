import type { Document, MongoClient } from "mongodb";
import type { Clock } from "../../base/clock.ts";
import type { StoreLog } from "../port/storeLog.ts";
import type { StoreClock } from "../storeClock.ts";
import { tellDifference } from "../tellDifference.ts";

/** What a server that takes writes says of its time; undefined from any other, and from one that says nothing. */
const timeIn = ({ isWritablePrimary, ismaster, localTime }: Document): number | undefined =>
  (isWritablePrimary || ismaster) && localTime instanceof Date ? localTime.getTime() : undefined;

export interface ClockWatch {
  /** Asks the server once, on a connection that is open already. */
  readonly look: (hello: () => Promise<Document>) => Promise<void>;
  /** Milliseconds since the driver asked a server what that has not answered, nor the driver given up; 0 when there is nothing. */
  readonly unansweredFor: () => number;
  /** Forgets all questions that have no answer. */
  readonly forget: () => void;
}

/**
 * Learns a server's time from the questions by which the driver watches its servers, so that it costs nothing more.
 * Says in the log when this machine's clock begins to differ from it, and when it no longer does.
 */
export const watchClock = (client: MongoClient, clock: StoreClock, local: Clock, log: StoreLog | undefined): ClockWatch => {
  const asked = new Map<string, number>();
  /** The one server whose time counts; of several routers the same for every node. */
  let source: string | undefined;
  const tell = tellDifference(clock, local, log, { whose: "the store's", effect: "which is the one that counts" });

  const learn = (reply: Document, askedAt: number): void => {
    const answeredAt = local.monotonic();
    const time = timeIn(reply);
    if (time === undefined) return;
    clock.learn({ time, askedAt, answeredAt });
    tell();
  };

  client.on("topologyDescriptionChanged", ({ newDescription: { servers } }) => {
    [source] = [...servers.values()]
      .filter(({ isWritable }) => isWritable)
      .map(({ address }) => address)
      .sort();
  });
  client.on("serverHeartbeatStarted", ({ connectionId }) => asked.set(connectionId, local.monotonic()));
  client.on("serverClosed", ({ address }) => asked.delete(address));
  client.on("serverHeartbeatFailed", ({ connectionId }) => asked.delete(connectionId));
  client.on("serverHeartbeatSucceeded", ({ connectionId, reply, awaited }) => {
    const askedAt = asked.get(connectionId);
    asked.delete(connectionId);
    // An awaited answer says when something changed, not how long the way was.
    if (askedAt !== undefined && !awaited && connectionId === source) learn(reply, askedAt);
  });

  return {
    look: async (hello) => {
      const askedAt = local.monotonic();
      learn(await hello(), askedAt);
    },
    unansweredFor: () => {
      let longest = 0;
      for (const askedAt of asked.values()) longest = Math.max(longest, local.monotonic() - askedAt);
      return longest;
    },
    forget: () => asked.clear(),
  };
};
