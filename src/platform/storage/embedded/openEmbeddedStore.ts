import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { SCHEMA_VERSION } from "../port/baseDocument.ts";
import type { Filter } from "../port/collection.ts";
import type { CollectionName, Documents } from "../port/documents.ts";
import { StoreDamagedError } from "../port/errors.ts";
import type { Store } from "../port/store.ts";
import type { StoreLog } from "../port/storeLog.ts";
import type { StoreMode } from "../port/storeMode.ts";
import { claimSchemaVersion } from "../schemaVersion.ts";
import { createEmbeddedCounters } from "./counters/embeddedCounters.ts";
import { hasOldFiles, importOldCounters } from "./counters/importOldCounters.ts";
import { openCounterFile } from "./counters/openCounterFile.ts";
import { refuseMissingState } from "./damage/findDamage.ts";
import { makeDataDirectory } from "./dataDirectory.ts";
import { embeddedCollectionsWith } from "./embeddedCollectionsWith.ts";
import { createProgress } from "./progress.ts";
import { isServerLockTaken, takeServerLock } from "./serverLock.ts";
import { expiryField } from "./sqlite/documentText.ts";
import { embeddedCollection } from "./sqlite/embeddedCollection.ts";
import { createFileReader } from "./sqlite/fileReader.ts";
import { openDatabase } from "./sqlite/openDatabase.ts";
import { createReadTurns } from "./sqlite/readTurns.ts";
import { collectionNames } from "./sqlite/schema.ts";
import { damageAdvice, damagedPart, isDamage, messageOf } from "./sqlite/sqliteErrors.ts";
import { readStoreId } from "./sqlite/storeRow.ts";
import { createWriteQueue } from "./sqlite/writeQueue.ts";
import { createPrivately, filesIn } from "./storeFiles.ts";
import { storeSizes, storeUsage } from "./storeUsage.ts";

export interface EmbeddedStoreOptions {
  /** Holds the file `latchkey.sqlite`; made, for its owner only, when it is missing. */
  readonly directory: string;
  readonly clock: Clock;
  readonly mode: StoreMode;
  readonly log?: StoreLog;
  /** Milliseconds between two removals of expired documents; 30 seconds unless told. */
  readonly expiryInterval?: number;
}

/** A server's writers are short; a tool may have to wait for a server under load. Milliseconds. */
const patience = { server: 2000, tool: 5000, restore: 5000 } as const;

/**
 * The store in a SQLite file, with the counters of rate limits in another one. Nothing is opened before `prepare`, which rejects
 * when another server uses the directory, or a tool finds one of an older version there, with `SchemaTooNewError`, and with
 * `StoreDamagedError` when the state file is damaged or missing. Every other file is made again when it cannot be used. Acknowledged
 * changes survive the end of the process and, but for the last milliseconds of counters, that of the machine.
 */
export const openEmbeddedStore = ({ directory, clock, mode, log, expiryInterval = 30_000 }: EmbeddedStoreOptions): Store => {
  const files = filesIn(directory);
  const { database: file, lock: lockFile } = files;
  const progress = createProgress();
  const queue = createWriteQueue({ file, patience: patience[mode] }, { clock, log, onCommit: progress.made });
  let isPrepared = false;
  /** As it was prepared first. */
  let facts: Readonly<Record<string, unknown>> | undefined;
  let releaseLock: (() => void) | undefined;
  let expiring: NodeJS.Timeout | undefined;

  const reader = createFileReader(file);
  const turns = createReadTurns();

  const collection = <N extends CollectionName>(name: N) => embeddedCollection<Documents[N]>(name, reader, turns, queue);

  const counters = createEmbeddedCounters({ file: files.counters, clock, turns, log, onCommit: progress.made });

  const identify = async (signal: AbortSignal | undefined): Promise<string> => {
    await queue.write({ kind: "name", store: randomBytes(16).toString("hex") }, signal);
    const store = readStoreId(reader.open());
    if (store === undefined) throw new StoreDamagedError(`${file} has lost the id of its store: ${damageAdvice}`);
    return store;
  };

  /** @returns whether it is empty */
  const prepareCounterFile = (store: string, isNew: boolean): boolean => {
    const counterFile = openCounterFile(files.counters, store, { isExpected: !isNew && !hasOldFiles(directory), log });
    const state = openDatabase(file, { readOnly: false });
    try {
      if (mode === "server") importOldCounters(directory, state, counterFile, clock.now());
      return counterFile.prepare("SELECT 1 FROM counters LIMIT 1").get() === undefined;
    } catch (error) {
      throw isDamage(error) ? damagedPart(file, messageOf(error), error) : error;
    } finally {
      state.close();
      counterFile.close();
    }
  };

  const prepareCounters = (store: string, isNew: boolean): void => {
    // Whoever makes the state file makes the counters, so that their absence means something later. Others leave them to the server.
    const isEmpty = (mode === "server" || isNew) && prepareCounterFile(store, isNew);
    if (existsSync(files.counters)) counters.start(isEmpty && mode === "server");
  };

  /** It would go on by the old schema, and not fill columns that this version makes. */
  const refuseBesideOlderServer = async (signal: AbortSignal | undefined): Promise<void> => {
    const system = await collection("system").findOne({ _id: "schema" }, { signal });
    if (system?.schema === undefined || system.schema >= SCHEMA_VERSION || !isServerLockTaken(lockFile)) return;
    throw new Error(`the service that uses the data directory ${directory} is of an older version: restart it with this one first`);
  };

  const removeExpired = async (): Promise<void> => {
    for (const name of collectionNames) {
      const field = expiryField(name);
      if (field === undefined) continue;
      const expired = { [field]: { $lte: new Date(clock.now()) } } as Filter<Documents[typeof name]>;
      // What keeps one collection from being cleaned is no reason for the others to grow.
      await collection(name)
        .deleteMany(expired)
        .catch((error: unknown) => log?.warn({ err: error, collection: name }, "expired documents could not be removed"));
    }
    await counters.removeExpired().catch((error: unknown) => log?.warn({ err: error }, "expired rate limit counters could not be removed"));
  };

  return {
    engine: "embedded",
    isInProcess: true,
    clock,
    collection,
    collectionsWith: embeddedCollectionsWith(reader, turns),
    // A tool next to a server remembers counters by itself: neither sees at once what the other counts.
    counters,
    prepare: async (signal) => {
      signal?.throwIfAborted();
      makeDataDirectory(directory, files);
      if (mode !== "tool") releaseLock ??= takeServerLock(lockFile, directory, log);
      const found = storeSizes(files);
      // A restore takes the place of a state file that is lost.
      if (mode !== "restore") refuseMissingState(files);
      createPrivately(file);
      openDatabase(file, { readOnly: false }).close();
      const store = await identify(signal);
      await queue.write({ kind: "define", collections: ["system"] }, signal);
      if (mode === "tool") await refuseBesideOlderServer(signal);
      const version = await claimSchemaVersion(collection("system"), signal, mode === "restore");
      await queue.write({ kind: "define", collections: collectionNames, withoutIndexes: mode === "restore" }, signal);
      if (!isPrepared) prepareCounters(store, found.bytes === 0);
      isPrepared = true;
      if (mode === "server") {
        expiring ??= setInterval(() => void removeExpired(), expiryInterval).unref();
      }
      facts ??= { file, ...found, ...version, sqlite: process.versions.sqlite };
    },
    buildIndexes: async () => {
      await queue.write({ kind: "define", collections: collectionNames });
    },
    facts: () => ({ ...facts }),
    usage: () => storeUsage(directory, files),
    scrub: async () => (await queue.write({ kind: "emptyLog" })).modified === 1,
    progress: progress.next,
    ping: async (signal) => {
      reader.row("SELECT 1", []);
      // At once: on a slow disk each of them takes its time.
      await Promise.all([queue.write({ kind: "touch" }, signal), mode === "server" && counters.ping()]);
    },
    close: async () => {
      clearInterval(expiring);
      await counters.close();
      // The writer must be the last to close: then SQLite folds the log into the file and removes it.
      reader.close();
      await queue.close();
      releaseLock?.();
      releaseLock = undefined;
    },
  };
};
