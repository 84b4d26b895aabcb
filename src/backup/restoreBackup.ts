import type { Fields } from "../storage/port/applyUpdate.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../storage/port/baseDocument.ts";
import type { KeyDocument } from "../storage/port/documents.ts";
import type { RestoreState } from "../storage/port/internalDocuments.ts";
import type { Store } from "../storage/port/store.ts";
import { RESTORING_SCHEMA } from "../storage/schemaVersion.ts";
import type { BackedUpCollection } from "./backedUp.ts";
import { MOST_DOCUMENTS, type SourceBatch } from "./backupSource.ts";
import { type CheckedBackup, differencesBetween } from "./checkBackup.ts";
import { readBackup } from "./readBackup.ts";
import { anyOf, judgeStore, refuseOther } from "./restoreTarget.ts";
import { readStore } from "./storeSource.ts";
import { createTally, expiryOf, type Tallies } from "./tally.ts";

const SCHEMA = { _id: "schema" } as const;

export interface RestoreOptions {
  /** The file is an import's own, see `RestoreState`. */
  readonly isImport?: true | undefined;
  /** Hears how many documents were written, then how many were compared. */
  readonly onProgress?: ((step: "write" | "compare", documents: number) => void) | undefined;
}

/** What was done. */
export interface Restored {
  readonly documents: number;
  /** Of those: what had expired meanwhile, and was left out. */
  readonly expired: number;
  /** Of those in the store: what expires by itself, and so was not compared. */
  readonly expiring: number;
  /** How many an earlier attempt had written for certain; undefined where this is the first. */
  readonly resumedAt: number | undefined;
}

/** Where a restore begins: behind what an earlier attempt with the same backup has written. */
const begin = async (store: Store, first: RestoreState): Promise<{ readonly restoring: RestoreState; readonly resumedAt?: number }> => {
  const before = await judgeStore(store);
  refuseOther(before, first.backup);
  if (before !== undefined) return { restoring: before, resumedAt: before.documents };
  await store.collection("system").updateOne(SCHEMA, { $set: { restoring: first, schema: RESTORING_SCHEMA } });
  return { restoring: first };
};

/** How long what had expired is kept for the sake of its events, in milliseconds: running nodes move them within seconds. */
const EVENTS_KEPT = 86_400_000;

/** The documents of a batch, but for those whose time is over and that have nothing left to tell the audit log. */
const liveOnes = ({ collection, texts }: SourceBatch, now: number): readonly KeyDocument[] => {
  const expiry = expiryOf(collection);
  const documents = texts.map((text) => JSON.parse(text) as Fields);
  const live = documents.flatMap((document) => {
    const time = expiry === undefined ? undefined : document[expiry];
    if (expiry === undefined || typeof time !== "number") return [document];
    const until = document.pendingMark === undefined ? time : Math.max(time, now + EVENTS_KEPT);
    return until > now ? [{ ...document, [expiry]: new Date(until) }] : [];
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
  for await (const batch of readStore(store)) {
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
  { isImport, onProgress }: RestoreOptions = {},
): Promise<Restored> => {
  const system = store.collection("system");
  const { restoring, resumedAt } = await begin(store, { backup: end.sha256, documents: 0, ...(isImport && { isImport }) });
  let documents = 0;
  let expired = 0;
  let expiring = 0;
  for await (const part of readBackup(file)) {
    if (part.kind !== "batch") continue;
    const { collection, texts } = part;
    documents += texts.length;
    if (expiryOf(collection) !== undefined) expiring += texts.length;
    if (documents <= (resumedAt ?? 0)) continue;
    const collected = anyOf(store, collection);
    const live = liveOnes(part, store.clock.now());
    expired += texts.length - live.length;
    // An attempt that was killed may have written some of the batch that it was at.
    if (resumedAt !== undefined && documents - texts.length < resumedAt + MOST_DOCUMENTS) {
      await collected.deleteMany({ _id: { $in: live.map(({ _id }) => _id) } });
    }
    await collected.insertMany(live);
    await system.updateOne(SCHEMA, { $set: { restoring: { ...restoring, documents } satisfies RestoreState } });
    onProgress?.("write", documents);
  }
  await compare(store, end.tallies, (count) => onProgress?.("compare", count));
  const { madeBy, backfill } = header;
  await system.updateOne(SCHEMA, {
    $set: { v: madeBy, schema: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, ...(backfill && { backfill }) },
    $unset: { restoring: "" },
  });
  return { documents, expired, expiring: expiring - expired, resumedAt };
};
