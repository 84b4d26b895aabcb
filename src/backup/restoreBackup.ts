import type { Fields } from "../storage/port/applyUpdate.ts";
import { WORKSPACE_ID } from "../storage/port/baseDocument.ts";
import type { Collection } from "../storage/port/collection.ts";
import type { KeyDocument } from "../storage/port/documents.ts";
import type { RestoreState } from "../storage/port/internalDocuments.ts";
import type { Store } from "../storage/port/store.ts";
import { createNodesRepository } from "../storage/repositories/nodesRepository.ts";
import { type BackedUpCollection, backedUp } from "./backedUp.ts";
import { MOST_DOCUMENTS, type SourceBatch } from "./backupSource.ts";
import { type CheckedBackup, differencesBetween } from "./checkBackup.ts";
import { readBackup } from "./readBackup.ts";
import { storeSource } from "./storeSource.ts";
import { createTally, expiryOf, type Tallies } from "./tally.ts";

const SCHEMA = { _id: "schema" } as const;

/** Why a store cannot take a backup. Nothing was changed; the message is for the user. */
export class RestoreRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RestoreRefusedError";
  }
}

/** What was done. */
export interface Restored {
  readonly documents: number;
  /** Of those: what had expired meanwhile, and was left out. */
  readonly expired: number;
  /** How many an earlier attempt had written for certain; undefined where this is the first. */
  readonly resumedAt: number | undefined;
}

/** What any call leaves something in; counters and the like expire. */
const objects: readonly BackedUpCollection[] = backedUp.filter((name) => name !== "system" && expiryOf(name) === undefined);

/** The documents of each collection have an id, and nothing else is asked of them here. */
const anyOf = (store: Store, collection: BackedUpCollection): Collection<KeyDocument> => store.collection(collection as "keys");

/** A backup takes the place of nothing: what is there stays, and so refuses it. */
const refuseUnlessEmpty = async (store: Store): Promise<void> => {
  const nodes = await createNodesRepository(store).list(store.clock.now());
  if (nodes.length > 0) throw new RestoreRefusedError(`${nodes.length} nodes are running on the store: stop them first`);
  for (const collection of objects) {
    const [found] = await anyOf(store, collection).findFields([], {}, { limit: 1 });
    if (found !== undefined) {
      throw new RestoreRefusedError(`the store is not empty, it holds ${collection}: name another DATA_DIR, or an empty database`);
    }
  }
};

/** Where a restore begins: behind what an earlier attempt with the same backup has written. */
const begin = async (store: Store, backup: string): Promise<number | undefined> => {
  const system = store.collection("system");
  const restoring = (await system.findOne(SCHEMA))?.restoring;
  if (restoring !== undefined && restoring.backup !== backup) {
    throw new RestoreRefusedError(
      "the restore of another backup into this store did not end: go on with that one, or begin with an empty store",
    );
  }
  if (restoring === undefined) {
    await refuseUnlessEmpty(store);
    await system.updateOne(SCHEMA, { $set: { restoring: { backup, documents: 0 } satisfies RestoreState } });
  }
  return restoring?.documents;
};

/** The documents of a batch, but for those whose time is over. */
const liveOnes = ({ collection, texts }: SourceBatch, now: number): readonly KeyDocument[] => {
  const expiry = expiryOf(collection);
  const documents = texts.map((text) => JSON.parse(text) as Fields);
  const live = documents.flatMap((document) => {
    const time = expiry === undefined ? undefined : document[expiry];
    if (expiry === undefined || typeof time !== "number") return [document];
    return time > now ? [{ ...document, [expiry]: new Date(time) }] : [];
  });
  return live as readonly object[] as readonly KeyDocument[];
};

/** Those collections that nothing changes by itself. */
const lasting = (tallies: Tallies): Tallies =>
  Object.fromEntries(Object.entries(tallies).filter(([collection]) => expiryOf(collection as BackedUpCollection) === undefined));

/** Reads the store again. Throws where it does not hold what the backup does. */
const compare = async (store: Store, tallies: Tallies, onProgress: ((documents: number) => void) | undefined): Promise<void> => {
  const tally = createTally();
  let documents = 0;
  for await (const batch of (await storeSource(store)).read()) {
    tally.add(batch);
    documents += batch.texts.length;
    onProgress?.(documents);
  }
  const different = differencesBetween(lasting(tallies), lasting(tally.result()));
  if (different.length > 0) {
    throw new Error(
      `the store does not hold what the backup does (${different.join(", ")}): something else wrote to it; begin with an empty store`,
    );
  }
};

/**
 * Writes a backup that was checked into a store opened for a restore (`StoreMode`), empty or with a part of the same backup, then reads it all again
 * and compares. Until that is done the store opens for nothing else. May be killed at any time and repeated. Rejects with
 * `RestoreRefusedError` where the store is in use or holds something else.
 */
export const restoreBackup = async (
  store: Store,
  file: string,
  { header, end }: CheckedBackup,
  onProgress?: (step: "write" | "compare", documents: number) => void,
): Promise<Restored> => {
  const system = store.collection("system");
  const resumedAt = await begin(store, end.sha256);
  let documents = 0;
  let expired = 0;
  for await (const part of readBackup(file)) {
    if (part.kind !== "batch") continue;
    const { collection, texts } = part;
    documents += texts.length;
    if (documents <= (resumedAt ?? 0)) continue;
    const collected = anyOf(store, collection);
    const live = liveOnes(part, store.clock.now());
    expired += texts.length - live.length;
    // An attempt that was killed may have written some of the batch that it was at.
    if (resumedAt !== undefined && documents - texts.length < resumedAt + MOST_DOCUMENTS) {
      await collected.deleteMany({ _id: { $in: live.map(({ _id }) => _id) } });
    }
    await collected.insertMany(live);
    await system.updateOne(SCHEMA, { $set: { restoring: { backup: end.sha256, documents } satisfies RestoreState } });
    onProgress?.("write", documents);
  }
  await compare(store, end.tallies, (count) => onProgress?.("compare", count));
  const { madeBy, backfill } = header;
  await system.updateOne(SCHEMA, {
    $set: { v: madeBy, workspaceId: WORKSPACE_ID, ...(backfill && { backfill }) },
    $unset: { restoring: "" },
  });
  return { documents, expired, resumedAt };
};
