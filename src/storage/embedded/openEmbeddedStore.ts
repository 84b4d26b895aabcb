import { randomBytes } from "node:crypto";
import type { Clock } from "../../domain/clock.ts";
import { collectionCounters } from "../collectionCounters.ts";
import { SCHEMA_VERSION } from "../port/baseDocument.ts";
import type { Filter } from "../port/collection.ts";
import type { CollectionName, Documents } from "../port/documents.ts";
import { StoreDamagedError } from "../port/errors.ts";
import type { Store } from "../port/store.ts";
import type { StoreLog } from "../port/storeLog.ts";
import type { StoreMode } from "../port/storeMode.ts";
import { claimSchemaVersion } from "../schemaVersion.ts";
import { openAppendLog } from "./counters/appendLog.ts";
import { createJournaledCounters } from "./counters/journaledCounters.ts";
import { refuseDamage } from "./damage/findings.ts";
import { undoInterrupted } from "./damage/interrupted.ts";
import { createProgress } from "./damage/progress.ts";
import { makeDataDirectory } from "./dataDirectory.ts";
import { embeddedCollectionsWith } from "./embeddedCollectionsWith.ts";
import { createMarks, type MarkWriter, openMark } from "./marks.ts";
import { isServerLockTaken, takeServerLock } from "./serverLock.ts";
import { expiryField, textDecoder } from "./sqlite/documentText.ts";
import { embeddedCollection } from "./sqlite/embeddedCollection.ts";
import { createFileReader } from "./sqlite/fileReader.ts";
import { createReadTurns } from "./sqlite/readTurns.ts";
import { collectionNames } from "./sqlite/schema.ts";
import { readStoreRow } from "./sqlite/storeRow.ts";
import { createWriteQueue } from "./sqlite/writeQueue.ts";
import { createPrivately, filesIn, sizeOf } from "./storeFiles.ts";
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

const decodeCounter = textDecoder<Documents["counters"]>("counters");

/**
 * The store in a SQLite file, with the counters of rate limits in a journal beside it. Nothing is opened before
 * `prepare`, which rejects when another server uses the directory, or a tool finds one of an older version there, with
 * `SchemaTooNewError`, and with `StoreDamagedError`, having changed nothing, when a file is not what the others say of it. What was acknowledged survives the end of the process and of the machine.
 */
export const openEmbeddedStore = ({ directory, clock, mode, log, expiryInterval = 30_000 }: EmbeddedStoreOptions): Store => {
  const files = filesIn(directory);
  const { database: file, lock: lockFile } = files;
  const progress = createProgress();
  const queue = createWriteQueue({ file, patience: patience[mode], marks: files.marks }, { clock, log, onCommit: progress.made });
  let isInspected = false;
  /** As it was prepared first. */
  let facts: Readonly<Record<string, unknown>> | undefined;
  let mark: MarkWriter | undefined;
  let releaseLock: (() => void) | undefined;
  /** The store's id. */
  let store: string | undefined;
  let expiring: NodeJS.Timeout | undefined;

  const reader = createFileReader(file);
  const turns = createReadTurns();

  const collection = <N extends CollectionName>(name: N) => embeddedCollection<Documents[N]>(name, reader, turns, queue);

  const counters = createJournaledCounters({
    directory,
    clock,
    find: (key) => {
      const row = reader.row("SELECT doc FROM counters WHERE id=?", [key]);
      return row === undefined ? undefined : decodeCounter(row.doc as string);
    },
    tableIsEmpty: () => reader.row("SELECT id FROM counters LIMIT 1", []) === undefined,
    write: queue.write,
    mark: (record, last) => {
      if (store !== undefined) last ? mark?.writeNow(store, record) : mark?.write(store, record);
    },
    log,
    openLog: (...log) => {
      const opened = openAppendLog(...log);
      return { ...opened, append: (record) => opened.append(record).then(progress.made) };
    },
  });

  /** The marks come after the name: a store whose commits were counted has them. */
  const identify = async (signal: AbortSignal | undefined): Promise<string> => {
    await queue.write({ kind: "name", store: randomBytes(16).toString("hex") }, signal);
    const row = readStoreRow(reader.open());
    if (row === undefined) throw new StoreDamagedError(`${file} has lost the id of its store`);
    if (sizeOf(files.marks) === undefined) createMarks(files, { ...row, record: 0 });
    return row.store;
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
  };

  return {
    engine: "embedded",
    isInProcess: true,
    clock,
    collection,
    collectionsWith: embeddedCollectionsWith(reader, turns),
    // A tool beside the server has none of what that keeps in memory.
    counters: mode === "server" ? counters : collectionCounters(collection("counters")),
    prepare: async (signal) => {
      signal?.throwIfAborted();
      makeDataDirectory(directory, files);
      if (mode !== "tool") {
        createPrivately(lockFile);
        releaseLock ??= takeServerLock(lockFile, directory);
        if (!isInspected && undoInterrupted(files))
          log?.warn({ file }, "a change of the embedded store that a crash interrupted was undone");
      }
      const found = storeSizes(files);
      if (!isInspected) refuseDamage(files, () => mode === "tool" && isServerLockTaken(lockFile));
      isInspected = true;
      createPrivately(file);
      store = await identify(signal);
      await queue.write({ kind: "define", collections: ["system"] }, signal);
      if (mode === "tool") await refuseBesideOlderServer(signal);
      const version = await claimSchemaVersion(collection("system"), signal, mode === "restore");
      await queue.write({ kind: "define", collections: collectionNames, withoutIndexes: mode === "restore" }, signal);
      if (mode === "server") {
        mark ??= openMark(files.marks, "record");
        await counters.recover(store);
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
      mark?.close();
      mark = undefined;
      releaseLock?.();
      releaseLock = undefined;
    },
  };
};
