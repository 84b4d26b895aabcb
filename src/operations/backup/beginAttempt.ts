import { randomUUID } from "node:crypto";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { RestoreState, SystemDocument } from "../../platform/storage/port/internalDocuments.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { RESTORING_SCHEMA } from "../../platform/storage/schemaVersion.ts";
import type { BackupHeader } from "./backupLines.ts";
import type { Patiently } from "./patiently.ts";
import { judgeStore, RestoreRefusedError, refuseOther } from "./restoreTarget.ts";

const SCHEMA = { _id: "schema" } as const;
const ABSENT = { $exists: false } as const;

/** How often the beginning of another attempt may come in between. */
const TRIES = 5;

/**
 * One run of a restore, which has an id in the store. A later one of the same backup puts its own there: from then on each of
 * these, but `resumedAt`, rejects with `RestoreRefusedError`.
 */
export interface RestoreAttempt {
  /** How many documents an earlier attempt had written for certain; undefined where this is the first. */
  readonly resumedAt: number | undefined;
  /** Before each write: a service may use by now what a later attempt restored. */
  readonly check: () => Promise<void>;
  /** Tells the store how many documents are in it for certain. */
  readonly note: (documents: number) => Promise<void>;
  /** Opens the store for services. */
  readonly end: (header: Pick<BackupHeader, "madeBy" | "backfill">) => Promise<void>;
  /** The error to be told of one that happened: another attempt may be the reason. */
  readonly explain: (error: unknown) => Promise<unknown>;
}

const takenOver = (): RestoreRefusedError =>
  new RestoreRefusedError("a later restore of this backup into this store has taken over: wait for the end of that one");

/** What the store says of itself once it was judged. One that another attempt of this backup has begun to fill meanwhile is not refused for that. */
const judgeAgain = async (store: Store, backup: string, patiently: Patiently): Promise<SystemDocument | null> => {
  const look = () => patiently(() => store.collection("system").findOne(SCHEMA));
  try {
    refuseOther(await judgeStore(store, patiently), backup);
  } catch (error) {
    const found = await look();
    if (!(error instanceof RestoreRefusedError) || found?.restoring?.backup !== backup) throw error;
    return found;
  }
  return look();
};

/**
 * Makes a store one that a restore writes into, from its beginning or from where an earlier attempt with the same backup had
 * come. That attempt ends, if it still runs. Rejects with `RestoreRefusedError` where the store is in use or holds something else.
 */
export const beginAttempt = async (store: Store, first: RestoreState, patiently: Patiently): Promise<RestoreAttempt> => {
  const system = store.collection("system");
  const id = randomUUID();
  const ours = { ...SCHEMA, restoringBy: id, restoring: { $exists: true } };

  /** Of a try that failed nobody knows what it did: the store is looked at again before the next. */
  const onceOnly = <T>(write: () => Promise<T>): Promise<T | undefined> =>
    patiently(async (isRepeated) => (isRepeated ? undefined : write()));

  const begin = async (): Promise<RestoreState | undefined> => {
    let isFirst = false;
    for (let tries = 0; tries < TRIES; tries++) {
      const found = await judgeAgain(store, first.backup, patiently);
      if (found?.restoringBy === id) return isFirst ? undefined : found.restoring;
      if (found?.restoring === undefined) {
        isFirst = true;
        const asJudged = { ...SCHEMA, restoring: ABSENT, restoredAt: found?.restoredAt ?? ABSENT };
        const beginning = { $set: { restoring: first, restoringBy: id, schema: RESTORING_SCHEMA } };
        const begun = await onceOnly(() => system.updateOne(asJudged, beginning));
        if (begun !== undefined && begun.matchedCount > 0) return undefined;
      } else {
        isFirst = false;
        const asJudged = { ...SCHEMA, restoring: { $exists: true }, restoringBy: found.restoringBy ?? ABSENT };
        const taken = await onceOnly(() => system.findOneAndUpdate(asJudged, { $set: { restoringBy: id } }, { returnDocument: "after" }));
        if (taken?.restoring !== undefined) return taken.restoring;
      }
    }
    throw new RestoreRefusedError("another restore or a service writes to the store: end it first");
  };

  const before = await begin();
  const { isImport = first.isImport } = before ?? first;

  const check = async (): Promise<void> => {
    const found = await system.findOne(SCHEMA);
    if (found === null) throw new Error("the store was emptied meanwhile: restore once more");
    if (found.restoring === undefined || found.restoringBy !== id) throw takenOver();
  };

  return {
    resumedAt: before?.documents,
    check,
    note: (documents) =>
      patiently(async () => {
        const restoring: RestoreState = { backup: first.backup, documents, ...(isImport && { isImport }) };
        const { matchedCount } = await system.updateOne(ours, { $set: { restoring } });
        if (matchedCount === 0) await check();
      }),
    end: ({ madeBy, backfill }) => {
      const restoredAt = store.clock.now();
      const whole = { v: madeBy, schema: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, restoredAt, ...(backfill && { backfill }) };
      return patiently(async (isRepeated) => {
        const { matchedCount } = await system.updateOne(ours, { $set: whole, $unset: { restoring: "", restoringBy: "" } });
        if (matchedCount > 0) return;
        // The try before this one may have done it, though the store did not say so.
        if (isRepeated && (await system.findOne({ ...SCHEMA, restoring: ABSENT, restoredAt })) !== null) return;
        await check();
      });
    },
    explain: (error) =>
      check().then(
        () => error,
        (reason: unknown) => (reason instanceof RestoreRefusedError ? reason : error),
      ),
  };
};
