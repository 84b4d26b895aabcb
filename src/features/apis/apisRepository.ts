import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { ApiDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { newDocument, notDeleted } from "../../platform/storage/repositories/shared/audited.ts";
import {
  createModify,
  createRemove,
  type Modify,
  type ModifyOptions,
  type MoveEvents,
} from "../../platform/storage/repositories/shared/modify.ts";
import { type Page, type PageRequest, readNewestPage } from "../../platform/storage/repositories/shared/page.ts";

export interface ApisRepository {
  /** The API unless it is deleted. */
  readonly find: (apiId: string, options?: OperationOptions) => Promise<ApiDocument | null>;
  /** One page of those that are not deleted, newest first; `ids`: only these. */
  readonly listPage: (ids: ReadonlySet<string> | undefined, page: PageRequest, options: OperationOptions) => Promise<Page<ApiDocument>>;
  /** Ids of those that live, in no order; of these ids, if told. */
  readonly findLivingIds: (ids: readonly string[] | undefined, options?: OperationOptions) => Promise<string[]>;
  readonly insert: (
    api: { id: string; name: string },
    now: number,
    events: readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<void>;
  readonly modify: Modify<ApiDocument>;
  /** False when it does not exist, is protected, or was deleted by someone else. Its keys stay as they are. */
  readonly delete: (apiId: string, now: number, events: readonly AuditEvent[], options?: ModifyOptions) => Promise<boolean>;
}

/** @param moveEvents see `createModify`. */
export const createApisRepository = (store: Store, moveEvents?: MoveEvents): ApisRepository => {
  const apis = store.collection("apis");
  const modify = createModify(store, "apis", moveEvents);
  const remove = createRemove(apis, modify);
  return {
    find: (apiId, options) => apis.findOne({ _id: apiId, ...notDeleted }, options),
    listPage: (ids, page, options) => readNewestPage(apis, ids, page, options),
    findLivingIds: async (ids, options) => {
      const found = await apis.findFields([], { ...(ids === undefined ? {} : { _id: { $in: ids } }), ...notDeleted }, options);
      return found.map(({ _id }) => _id);
    },
    insert: async ({ id, name }, now, events, options) => {
      await apis.insertOne({ ...newDocument(id, now, events), name }, options);
    },
    modify,
    delete: (apiId, now, events, options) =>
      remove(apiId, { $set: { deletedAt: now, erased: true, sweepFrom: now } }, events, options, {
        filter: { protected: { $exists: false } },
        holds: (api) => api.protected === undefined,
      }),
  };
};
