import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { SessionDocument } from "../../platform/storage/port/consoleDocuments.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { newDocument, notDeleted, withEvents } from "../../platform/storage/repositories/shared/audited.ts";

/** The most sessions that one root key or person has: the latest. */
const MOST_OF_ONE = 100;
/** So many older ones end with a new one: more than begin at the same time. */
const MOST_ENDED = 50;

/** What is known of a session when it is opened. */
export type NewSession = Pick<
  SessionDocument,
  "hash" | "rootKeyId" | "person" | "opening" | "address" | "userAgent" | "lastUsedAt" | "expiresAt" | "expireAt"
> & { readonly id: string };

export interface SessionsRepository {
  readonly find: (sessionId: string, options?: OperationOptions) => Promise<SessionDocument | null>;
  readonly findByHash: (hash: string, options?: OperationOptions) => Promise<SessionDocument | null>;
  /** Those of a root key, or of a person by their `personId`, that were not ended, the latest 100, latest first; also those whose time is over. */
  readonly listOf: (rootKeyId: string, options?: OperationOptions) => Promise<readonly SessionDocument[]>;
  /** How many have a row at `now`, Unix ms, and were not ended, of `limit` rows at most. */
  readonly countKept: (now: number, limit: number) => Promise<number>;
  /** Also ends the oldest sessions of its root key or person beyond the latest 100. */
  readonly insert: (session: NewSession, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<void>;
  /** Notes a use at `now`, Unix ms; never goes back. */
  readonly markUsed: (sessionId: string, now: number, options?: OperationOptions) => Promise<void>;
  /** Gives a session another token, its elevation, and a person's claims of now. Null when that of this hash is no more. */
  readonly elevate: (
    session: Pick<SessionDocument, "_id" | "hash">,
    change: { readonly hash: string; readonly elevatedUntil: number; readonly lastUsedAt: number } & Pick<SessionDocument, "person">,
    events: readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<SessionDocument | null>;
  /** Ends a session for good. False when it had been ended. @param events none where it ended by itself */
  readonly end: (sessionId: string, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<boolean>;
}

/** Sessions of the console (console §2). */
export const createSessionsRepository = (store: Store): SessionsRepository => {
  const sessions = store.collection("sessions");

  const of = (rootKeyId: string) => ({ workspaceId: WORKSPACE_ID, rootKeyId, ...notDeleted });
  const latest = (limit: number, { signal, caller }: OperationOptions = {}) => ({ signal, caller, sort: { _id: -1 }, limit }) as const;

  const end: SessionsRepository["end"] = async (sessionId, now, events, options) => {
    const update = withEvents<SessionDocument>({ $set: { deletedAt: now, erased: true }, $unset: { hash: "" } }, events);
    const ended = (await sessions.updateOne({ _id: sessionId, ...notDeleted }, update, options)).matchedCount === 1;
    // Whoever moves its events removes the row; where there are none nobody comes by.
    if (ended && events.length === 0) await sessions.deleteOne({ _id: sessionId, erased: true, pendingMark: { $exists: false } }, options);
    return ended;
  };

  return {
    find: (sessionId, options) => sessions.findOne({ _id: sessionId, ...notDeleted }, options),
    findByHash: (hash, options) => sessions.findOne({ workspaceId: WORKSPACE_ID, hash, ...notDeleted }, options),
    listOf: (rootKeyId, options) => sessions.find(of(rootKeyId), latest(MOST_OF_ONE, options)).toArray(),
    countKept: async (now, limit) => {
      // No condition on what is deleted: the store would look at any number of those.
      const kept = await sessions.findFields(["deletedAt"], { expireAt: { $gt: new Date(now) } }, { limit });
      return kept.filter(({ deletedAt }) => deletedAt === undefined).length;
    },
    insert: async ({ id, ...fields }, now, events, options) => {
      await sessions.insertOne({ ...newDocument(id, now, events), ...fields }, options);
      const kept = await sessions.findFields([], of(fields.rootKeyId), latest(MOST_OF_ONE + MOST_ENDED, options));
      for (const { _id } of kept.slice(MOST_OF_ONE)) await end(_id, now, [], options);
    },
    markUsed: async (sessionId, now, options) => {
      await sessions.updateOne({ _id: sessionId, ...notDeleted }, { $max: { lastUsedAt: now } }, options);
    },
    elevate: ({ _id, hash = "" }, { lastUsedAt, ...fields }, events, { signal, caller } = {}) => {
      const update = withEvents<SessionDocument>({ $set: fields, $max: { lastUsedAt } }, events);
      return sessions.findOneAndUpdate({ _id, hash, ...notDeleted }, update, { signal, caller, returnDocument: "after" });
    },
    end,
  };
};
