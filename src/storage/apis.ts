import { newDocument, notDeleted, withEvents } from "./audited.ts";
import type { Filter, OperationOptions, Update } from "./collection.ts";
import type { ApiDocument, AuditEvent } from "./documents.ts";
import type { Store } from "./store.ts";

export interface ApisRepository {
  /** The API unless it is deleted. */
  readonly find: (apiId: string, options?: OperationOptions) => Promise<ApiDocument | null>;
  /** Ids of those that live, in no order; of these ids, if told. */
  readonly findLivingIds: (ids: readonly string[] | undefined, options?: OperationOptions) => Promise<string[]>;
  readonly insert: (
    api: { id: string; name: string },
    now: number,
    events: readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<void>;
  /** An empty list removes the restriction. False when the API does not exist or is deleted. */
  readonly setIpAllowlist: (apiId: string, entries: readonly string[], now: number, events: readonly AuditEvent[]) => Promise<boolean>;
  /** Guards the API against deletion, or lifts that. False when the API does not exist or is deleted. */
  readonly protect: (apiId: string, on: boolean, now: number, events: readonly AuditEvent[]) => Promise<boolean>;
  /** False when it does not exist, is protected, or was deleted by someone else. Its keys stay as they are. */
  readonly delete: (apiId: string, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<boolean>;
}

export const createApisRepository = (store: Store): ApisRepository => {
  const apis = store.collection("apis");

  const update = async (
    apiId: string,
    change: Update<ApiDocument>,
    events: readonly AuditEvent[],
    options?: OperationOptions,
    guard?: Filter<ApiDocument>,
  ): Promise<boolean> => {
    const result = await apis.updateOne({ _id: apiId, ...notDeleted, ...guard }, withEvents(change, events), options);
    return result.matchedCount === 1;
  };

  return {
    find: (apiId, options) => apis.findOne({ _id: apiId, ...notDeleted }, options),
    findLivingIds: async (ids, options) => {
      const found = await apis.findFields([], { ...(ids === undefined ? {} : { _id: { $in: ids } }), ...notDeleted }, options);
      return found.map(({ _id }) => _id);
    },
    insert: async ({ id, name }, now, events, options) => {
      await apis.insertOne({ ...newDocument(id, now, events), name }, options);
    },
    setIpAllowlist: (apiId, ipAllowlist, now, events) =>
      update(
        apiId,
        ipAllowlist.length === 0 ? { $set: { updatedAt: now }, $unset: { ipAllowlist: "" } } : { $set: { updatedAt: now, ipAllowlist } },
        events,
      ),
    protect: (apiId, on, now, events) =>
      update(apiId, on ? { $set: { updatedAt: now, protected: true } } : { $set: { updatedAt: now }, $unset: { protected: "" } }, events),
    delete: (apiId, now, events, options) =>
      update(apiId, { $set: { deletedAt: now, erased: true, sweepFrom: now } }, events, options, { protected: { $exists: false } }),
  };
};
