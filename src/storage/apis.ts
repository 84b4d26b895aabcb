import { newDocument, notDeleted, withEvents } from "./audited.ts";
import type { OperationOptions } from "./collection.ts";
import type { ApiDocument, AuditEvent } from "./documents.ts";
import type { Store } from "./store.ts";

export interface ApisRepository {
  /** The API unless it is deleted. */
  readonly find: (apiId: string, options?: OperationOptions) => Promise<ApiDocument | null>;
  readonly insert: (
    api: { id: string; name: string },
    now: number,
    events: readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<void>;
  /** False when it does not exist, or was deleted by someone else. Its keys stay as they are. */
  readonly delete: (apiId: string, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<boolean>;
}

/** @param announce see `ChangesFeed.announce`: called after every write, whatever became of it. */
export const createApisRepository = (store: Store, announce: (ids: readonly string[]) => void): ApisRepository => {
  const apis = store.collection("apis");
  return {
    find: (apiId, options) => apis.findOne({ _id: apiId, ...notDeleted }, options),
    insert: async ({ id, name }, now, events, options) => {
      await apis.insertOne({ ...newDocument(id, now, events), name }, options);
    },
    delete: async (apiId, now, events, options) => {
      try {
        const result = await apis.updateOne(
          { _id: apiId, ...notDeleted },
          withEvents<ApiDocument>({ $set: { deletedAt: now } }, events),
          options,
        );
        return result.matchedCount === 1;
      } finally {
        announce([apiId]);
      }
    },
  };
};
