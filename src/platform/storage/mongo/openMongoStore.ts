import { setTimeout as sleep } from "node:timers/promises";
import { MongoClient, type MongoClientOptions } from "mongodb";
import { type Clock, systemClock } from "../../base/clock.ts";
import { createKeyedMutex } from "../keyedMutex.ts";
import { SCHEMA_VERSION } from "../port/baseDocument.ts";
import type { CollectionName, Documents } from "../port/documents.ts";
import type { Store } from "../port/store.ts";
import type { StoreLog } from "../port/storeLog.ts";
import type { MongoStoreMode } from "../port/storeMode.ts";
import { claimSchemaVersion, refuseUnusable, StoreNotMigratedError } from "../schemaVersion.ts";
import { createStoreClock } from "../storeClock.ts";
import { countersOfDocuments } from "./chargeDocuments.ts";
import { countConnections } from "./countConnections.ts";
import { counterDocuments } from "./counterDocuments.ts";
import { mongoCollection } from "./mongoCollection.ts";
import { mongoCollectionsWith } from "./mongoCollectionsWith.ts";
import { toStoreError } from "./mongoErrors.ts";
import { createOperations } from "./operations.ts";
import { indexChangesDue, prepareIndexes } from "./prepareIndexes.ts";
import { takeOverCounterLogs } from "./takeOverCounterLogs.ts";
import { type TimeLimits, type TimeLimitsFor, timeLimits } from "./timeLimits.ts";
import { watchClock } from "./watchClock.ts";

export interface MongoStoreOptions {
  /** A MongoDB connection string. The database is the one it names, else `latchkey`. */
  readonly url: string;
  /** This machine's, the system's unless told. The store's own goes by the server's time. */
  readonly clock?: Clock;
  /** A server's unless told. */
  readonly mode?: MongoStoreMode;
  /** How long operations may take: as long as a service waits unless told, but for a restore. */
  readonly limitsFor?: TimeLimitsFor;
  /** False: `prepare` leaves a store as it is that is not up to date, and rejects with `StoreNotMigratedError`. */
  readonly migrates?: boolean;
  readonly log?: StoreLog;
}

/** For pings: whether the server is there must not depend on how much it is asked. */
const SPARE_CONNECTIONS = 2;

/** No look at a server takes so long by the driver's own timeouts, in milliseconds. */
const STUCK = 10_000;

/** Closing a client may take this long, in milliseconds; what is left then ends with the process. */
const CLOSE_TIME = 3_000;

/** Of a collection's time for its indexes: all of them together. */
const PREPARATIONS = 6;

const optionsFor = ({ acknowledgement, silence, reach }: TimeLimits): MongoClientOptions => ({
  appName: "latchkey",
  ignoreUndefined: true,
  writeConcern: { w: "majority", journal: true, wtimeoutMS: acknowledgement },
  readConcernLevel: "majority",
  retryWrites: true,
  retryReads: true,
  // Nothing waits for long for a server that is away: callers are told of it, and commands try again by themselves.
  serverSelectionTimeoutMS: reach,
  connectTimeoutMS: reach,
  waitQueueTimeoutMS: reach,
  socketTimeoutMS: silence,
  // Each question to a server tells its time as well, and how long the way was; a stream of answers would not.
  serverMonitoringMode: "poll",
  heartbeatFrequencyMS: 1000,
});

const within = (milliseconds: number, work: Promise<unknown>): Promise<unknown> =>
  Promise.race([work, sleep(milliseconds, undefined, { ref: false })]);

const databaseOf = (url: string): string => /^mongodb(?:\+srv)?:\/\/[^/]+\/([^/?]+)/.exec(url)?.[1] ?? "latchkey";

/**
 * The store in a MongoDB database. The driver connects by itself, also again after the server was away.
 * Writes are acknowledged by a majority and journaled.
 */
export const openMongoStore = ({
  url,
  clock: local = systemClock,
  mode = "server",
  limitsFor = mode === "restore" ? "data" : "service",
  migrates = true,
  log,
}: MongoStoreOptions): Store => {
  const limits = timeLimits[limitsFor];
  const options = optionsFor(limits);
  const client = new MongoClient(url, options);
  const connections = countConnections(client);
  const clock = createStoreClock(local);
  const clockWatch = watchClock(client, clock, local, log);
  const database = client.db(decodeURIComponent(databaseOf(url)));
  client.on("serverDescriptionChanged", ({ previousDescription: { type: before }, newDescription: { type: after, address, error } }) => {
    if (before !== after && after === "Unknown") log?.warn({ server: address, err: error }, "a MongoDB server went away");
    else if (before !== after) log?.info({ server: address, type: after }, "a MongoDB server is there");
  });

  const operations = createOperations(limits.neverSettled);
  const { run } = operations;

  const reachable = <T>(operation: () => Promise<T>, patience?: number): Promise<T> =>
    run(operation, patience).catch((error: unknown) => {
      throw toStoreError(error, "read");
    });

  const traits = { sortsInMemory: false };
  /** As it was prepared first. */
  let facts: Readonly<Record<string, unknown>> | undefined;
  const turns = createKeyedMutex();
  const collection = <N extends CollectionName>(name: N) =>
    mongoCollection<Documents[N]>(name, database.collection(name), run, turns, traits, limits.operation);

  /** The driver waits for ever for what it never sent: nothing but a new connection of the client ends that. */
  let isBroken = false;
  let reconnecting: Promise<void> | undefined;
  const reconnect = async (): Promise<void> => {
    await within(CLOSE_TIME, client.close());
    clockWatch.forget();
    operations.forget();
    // Where this fails the driver does not try again by itself; the next ping does.
    await client.connect();
    isBroken = false;
    log?.info({}, "the MongoDB driver is connected again");
  };
  const mend = (): Promise<void> => {
    reconnecting ??= reachable(reconnect).finally(() => {
      reconnecting = undefined;
    });
    return reconnecting;
  };

  const prepareAllIndexes = async (signal: AbortSignal | undefined): Promise<void> => {
    const patient = new MongoClient(url, { ...options, socketTimeoutMS: limits.index });
    const close = (): void => void patient.close().catch(() => undefined);
    signal?.addEventListener("abort", close);
    try {
      await prepareIndexes(patient.db(database.databaseName), limits.index);
    } finally {
      signal?.removeEventListener("abort", close);
      await within(CLOSE_TIME, patient.close());
    }
  };

  const buildIndexes = (signal?: AbortSignal): Promise<void> => reachable(() => prepareAllIndexes(signal), PREPARATIONS * limits.index);

  const changesDue = () => reachable(() => indexChangesDue(database));

  /** What a service needs, or why it is not there. @returns for the log */
  const bringUpToDate = async (signal: AbortSignal | undefined): Promise<Awaited<ReturnType<typeof claimSchemaVersion>>> => {
    if (!migrates && mode !== "restore") {
      const system = await collection("system").findOne({ _id: "schema" }, { signal });
      refuseUnusable(system);
      const due = await changesDue();
      if (system?.schema !== SCHEMA_VERSION || due.length > 0) throw new StoreNotMigratedError(system?.schema, due);
      return { schema: SCHEMA_VERSION };
    }
    const version = await claimSchemaVersion(collection("system"), signal, mode === "restore");
    signal?.throwIfAborted();
    if (mode !== "restore") await buildIndexes(signal);
    return version;
  };

  const { maxPoolSize } = client.options;
  return {
    engine: "mongo",
    ...(maxPoolSize > 0 && { places: Math.max(1, maxPoolSize - SPARE_CONNECTIONS) }),
    clock,
    collection,
    collectionsWith: (field, among) => reachable(() => mongoCollectionsWith(database, field, among, limits.operation)),
    counters: countersOfDocuments(counterDocuments(database.collection("counters"), run, limits.operation)),
    prepare: async (signal) => {
      signal?.throwIfAborted();
      // Explicitly: after a failed attempt the driver's operations say that its topology is closed, instead of why.
      await reachable(() => client.connect());
      // Nobody asks for the time before the first look at the server's clock; connecting made the one of the driver inexact.
      let replicaSet: unknown;
      await clockWatch.look(async () => {
        const hello = await reachable(() => database.command({ hello: 1 }));
        replicaSet = hello.setName;
        return hello;
      });
      const version = mode === "look" ? {} : await bringUpToDate(signal);
      const { version: server, ferretdb } = await reachable(() => database.command({ buildInfo: 1 }));
      traits.sortsInMemory = ferretdb !== undefined;
      if (mode === "server") await takeOverCounterLogs({ database, clock, run: reachable, maxTimeMS: limits.operation });
      facts ??= { database: database.databaseName, replicaSet, server, ferretdb: ferretdb?.version, ...version };
    },
    buildIndexes: () => buildIndexes(),
    changesDue,
    estimate: (name) => reachable(() => database.collection(name).estimatedDocumentCount()),
    facts: () => ({ ...facts }),
    usage: async () => ({ connections: { open: connections.open(), inUse: connections.inUse(), most: maxPoolSize } }),
    ping: async (signal) => {
      signal?.throwIfAborted();
      if (isBroken) await mend();
      try {
        await reachable(() => database.command({ ping: 1 }));
      } catch (error) {
        const unansweredFor = clockWatch.unansweredFor();
        if (!isBroken && (unansweredFor > STUCK || operations.givenUp() > 0)) {
          isBroken = true;
          log?.warn({ unansweredForMs: unansweredFor }, "the MongoDB driver lost sight of its servers and is connected anew");
        }
        throw error;
      }
    },
    close: async () => {
      await operations.end();
      await within(CLOSE_TIME, client.close());
    },
  };
};
