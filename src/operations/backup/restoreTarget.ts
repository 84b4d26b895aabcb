import { existsSync } from "node:fs";
import { createNodesRepository } from "../../features/nodes/nodesRepository.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { openSnapshot } from "../../platform/storage/embedded/openSnapshot.ts";
import { filesIn } from "../../platform/storage/embedded/storeFiles.ts";
import { type OpenStoreOptions, openMongo } from "../../platform/storage/openStore.ts";
import type { Collection } from "../../platform/storage/port/collection.ts";
import type { KeyDocument } from "../../platform/storage/port/documents.ts";
import { StoreDamagedError } from "../../platform/storage/port/errors.ts";
import type { RestoreState, SystemDocument } from "../../platform/storage/port/internalDocuments.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { refuseUnusable } from "../../platform/storage/schemaVersion.ts";
import { type BackedUpCollection, backedUp } from "./backedUp.ts";
import { once, type Patiently } from "./patiently.ts";

/** Why a store cannot take a backup. Nothing was changed; the message is for the user. */
export class RestoreRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RestoreRefusedError";
  }
}

/** What a restore has to know of the store that it is to write into. */
interface RestoreTarget {
  readonly schema: SystemDocument | null;
  /** How many nodes use it. */
  readonly nodes: number;
  readonly holds: (collection: BackedUpCollection) => Promise<boolean>;
}

/** What is empty in a store that takes a backup, what expires too: counters of the backup could not be written beside those there. */
const holdings: readonly BackedUpCollection[] = backedUp.filter((name) => name !== "system");

/** The documents of each collection have an id, and nothing else is asked of them here. */
export const anyOf = (store: Store, collection: BackedUpCollection): Collection<KeyDocument> => store.collection(collection as "keys");

/** A backup takes the place of nothing: what is there stays, and so refuses it. */
const judge = async ({ schema, nodes, holds }: RestoreTarget): Promise<RestoreState | undefined> => {
  refuseUnusable(schema, true);
  if (schema?.restoring !== undefined) return schema.restoring;
  const since = schema?.restoredAt === undefined ? "" : ` (a restore into it ended at ${new Date(schema.restoredAt).toISOString()})`;
  if (nodes > 0) {
    throw new RestoreRefusedError(
      nodes === 1
        ? `a node is running on the store${since}: stop it first`
        : `${nodes} nodes are running on the store${since}: stop them first`,
    );
  }
  for (const collection of holdings) {
    if (await holds(collection)) {
      throw new RestoreRefusedError(`the store is not empty, it holds ${collection}${since}: name another DATA_DIR, or an empty database`);
    }
  }
  return undefined;
};

/**
 * How far an earlier restore into a store has come; undefined: it is empty. Rejects with `RestoreRefusedError` where it holds anything
 * else, or is used.
 */
export const judgeStore = async (store: Store, patiently: Patiently = once): Promise<RestoreState | undefined> =>
  judge({
    schema: await patiently(() => store.collection("system").findOne({ _id: "schema" })),
    nodes: (await patiently(() => createNodesRepository(store).list(store.clock.now()))).length,
    holds: async (collection) => (await patiently(() => anyOf(store, collection).findFields([], {}, { limit: 1 }))).length > 0,
  });

/** Where the restore of another backup did not end, its rest would be missing. */
export const refuseOther = (restoring: RestoreState | undefined, backup: string | undefined): void => {
  if (restoring === undefined || restoring.backup === backup) return;
  throw new RestoreRefusedError(
    "the restore of another backup into this store did not end: go on with that one, or begin with an empty store",
  );
};

/**
 * The same of a store that is not open, and which this does not change, nor make. What is damaged is left to its opening to tell, which
 * knows what a crash interrupted.
 */
export const judgeTarget = async (
  { mongodbUrl, dataDir }: Pick<OpenStoreOptions, "mongodbUrl" | "dataDir">,
  clock: Clock,
): Promise<RestoreState | undefined> => {
  if (mongodbUrl !== undefined) {
    const store = await openMongo({ url: mongodbUrl, clock, mode: "look", limitsFor: "data" });
    return store
      .prepare()
      .then(() => judgeStore(store))
      .finally(store.close);
  }
  if (!existsSync(filesIn(dataDir).database)) return undefined;
  let snapshot: ReturnType<typeof openSnapshot>;
  try {
    snapshot = openSnapshot(dataDir);
  } catch (error) {
    if (error instanceof StoreDamagedError) return undefined;
    throw error;
  }
  // A service that uses the directory holds its lock, which opening the store meets.
  const target: RestoreTarget = { schema: snapshot.schema, nodes: 0, holds: async (collection) => snapshot.count(collection) > 0 };
  return judge(target).finally(snapshot.close);
};
