import { setTimeout as sleep } from "node:timers/promises";
import type { Fields } from "../../platform/storage/port/applyUpdate.ts";
import type { Collection } from "../../platform/storage/port/collection.ts";
import type { KeyDocument } from "../../platform/storage/port/documents.ts";
import { DuplicateKeyError } from "../../platform/storage/port/errors.ts";
import type { RestoreState } from "../../platform/storage/port/internalDocuments.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import type { BackedUpCollection } from "./backedUp.ts";
import { MOST_DOCUMENTS, type SourceBatch } from "./backupSource.ts";
import { beginAttempt, type RestoreAttempt } from "./beginAttempt.ts";
import { type CheckedBackup, differencesBetween } from "./checkBackup.ts";
import { once, type Patiently } from "./patiently.ts";
import { readBackup } from "./readBackup.ts";
import { anyOf } from "./restoreTarget.ts";
import { readStore } from "./storeSource.ts";
import { createTally, expiryOf, type Tallies } from "./tally.ts";

/** A few, so that the store has the next when it is done with one. */
const BATCHES_AT_ONCE = 4;
/** How many documents come in before the store is told how far the restore has come. */
const NOTED_EVERY = 5_000;
/** How many documents at most an attempt that was killed may have begun to write behind what was noted, those of the turn that notes included. */
const MOST_UNNOTED = NOTED_EVERY + (BATCHES_AT_ONCE + 1) * MOST_DOCUMENTS;

export interface RestoreOptions {
  /** The file is an import's own, see `RestoreState`. */
  readonly isImport?: true | undefined;
  /** Hears how many documents were written, that the indexes are built then, and how many documents were compared. */
  readonly onProgress?: ((step: "write" | "index" | "compare", documents: number) => void) | undefined;
  /** What becomes of an operation that the store could not do. One attempt unless told. */
  readonly patiently?: Patiently | undefined;
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

/** What the server still does of an attempt that was given up may come in between. */
const ATTEMPTS = 5;
const PAUSE_MS = 1_000;

/** Inserts those that an attempt before this one, which had the same documents, has not. */
const insertMissing = async (
  collected: Collection<KeyDocument>,
  documents: readonly KeyDocument[],
  check: () => Promise<void>,
): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    const there = await collected.findFields([], { _id: { $in: documents.map(({ _id }) => _id) } });
    const ids = new Set(there.map(({ _id }) => _id));
    const missing = documents.filter(({ _id }) => !ids.has(_id));
    try {
      await collected.insertMany(missing);
      return;
    } catch (error) {
      if (!(error instanceof DuplicateKeyError) || error.index !== "_id" || attempt === ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
      await check();
    }
  }
};

const explainDuplicate = (error: unknown): never => {
  if (!(error instanceof DuplicateKeyError) || error.index === "_id") throw error;
  throw new Error(
    `the backup holds two objects with one value of the unique index ${error.index}: take another one while no node runs, and begin with an empty store`,
    { cause: error },
  );
};

/** Those collections that nothing changes by itself. */
const lasting = (tallies: Tallies): Tallies =>
  Object.fromEntries(Object.entries(tallies).filter(([collection]) => expiryOf(collection as BackedUpCollection) === undefined));

/** Reads the store again. Throws where it does not hold what the backup does. */
const compare = async (store: Store, tallies: Tallies, patiently: Patiently, onProgress: (documents: number) => void): Promise<void> => {
  const tally = createTally();
  let documents = 0;
  for await (const batch of readStore(store, patiently)) {
    tally.add(batch);
    documents += batch.texts.length;
    onProgress(documents);
  }
  const different = differencesBetween(lasting(tallies), lasting(tally.result()));
  if (different.length > 0) {
    throw new Error(
      `the store does not hold what the backup does (${different.join(", ")}): something else wrote to it; begin with an empty store`,
    );
  }
};

const writeAll = async (
  store: Store,
  file: string,
  { header, end }: CheckedBackup,
  attempt: RestoreAttempt,
  { onProgress, patiently }: { readonly onProgress: RestoreOptions["onProgress"]; readonly patiently: Patiently },
): Promise<Restored> => {
  const { resumedAt } = attempt;
  let documents = 0;
  let expired = 0;
  let expiring = 0;
  let noted = resumedAt ?? 0;
  let writing: Promise<unknown>[] = [];
  /** Waits for all writes under way, however they end, so that none outlives the restore. */
  const finishWrites = async (): Promise<void> => {
    const failed = (await Promise.allSettled(writing)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    writing = [];
    onProgress?.("write", documents);
    if (documents - noted < NOTED_EVERY) return;
    noted = documents;
    await attempt.note(documents);
  };
  for await (const part of readBackup(file)) {
    if (part.kind !== "batch") continue;
    const { collection, texts } = part;
    documents += texts.length;
    if (expiryOf(collection) !== undefined) expiring += texts.length;
    if (documents <= (resumedAt ?? 0)) continue;
    const collected = anyOf(store, collection);
    const live = liveOnes(part, store.clock.now());
    expired += texts.length - live.length;
    const mayBeThere = resumedAt !== undefined && documents - texts.length < resumedAt + MOST_UNNOTED;
    const write = async (isRepeated: boolean): Promise<unknown> => {
      await attempt.check();
      return mayBeThere || isRepeated ? insertMissing(collected, live, attempt.check) : collected.insertMany(live);
    };
    const written = patiently(write).catch(explainDuplicate);
    // Thrown by finishWrites.
    written.catch(() => undefined);
    writing.push(written);
    if (writing.length === BATCHES_AT_ONCE) await finishWrites();
  }
  await finishWrites();
  onProgress?.("index", documents);
  await patiently(async () => {
    await attempt.check();
    await store.buildIndexes?.();
  }).catch(explainDuplicate);
  await compare(store, end.tallies, patiently, (count) => onProgress?.("compare", count));
  await attempt.end(header);
  return { documents, expired, expiring: expiring - expired, resumedAt };
};

/**
 * Writes a backup that was checked into a store opened for a restore (`StoreMode`), empty or with a part of the same backup, then reads it all again
 * and compares. Until that is done the store opens for nothing else. May be killed at any time and repeated. Rejects with
 * `RestoreRefusedError` where the store is in use or holds something else, or where a later attempt took over.
 */
export const restoreBackup = async (
  store: Store,
  file: string,
  checked: CheckedBackup,
  { isImport, onProgress, patiently = once }: RestoreOptions = {},
): Promise<Restored> => {
  const first: RestoreState = { backup: checked.end.sha256, documents: 0, ...(isImport && { isImport }) };
  const attempt = await beginAttempt(store, first, patiently);
  try {
    return await writeAll(store, file, checked, attempt, { onProgress, patiently });
  } catch (error) {
    throw await attempt.explain(error);
  }
};
