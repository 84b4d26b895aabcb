import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { NamespaceDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { newDocument, notDeleted, withEvents } from "../../platform/storage/repositories/shared/audited.ts";
import { insertOrReuse } from "../../platform/storage/repositories/shared/insertOrReuse.ts";
import { type Page, type PageRequest, readNewestPage } from "../../platform/storage/repositories/shared/page.ts";

export interface NamespacesRepository {
  /** By id first, then by name; deleted ones included (ratelimit §1, §4). */
  readonly find: (idOrName: string, options?: OperationOptions) => Promise<NamespaceDocument | null>;
  /** One page of those that are not deleted, newest first; `ids`: only these. */
  readonly listPage: (
    ids: ReadonlySet<string> | undefined,
    page: PageRequest,
    options: OperationOptions,
  ) => Promise<Page<NamespaceDocument>>;
  readonly findOrCreate: (
    namespace: { id: string; name: string },
    now: number,
    events: readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<NamespaceDocument>;
  /** Deletes; the name stays taken. False when it does not exist or is deleted already. */
  readonly delete: (namespaceId: string, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<boolean>;
}

export const createNamespacesRepository = (store: Store): NamespacesRepository => {
  const namespaces = store.collection("namespaces");

  const find: NamespacesRepository["find"] = async (idOrName, options) => {
    const byId = idOrName.startsWith("rlns_") ? await namespaces.findOne({ _id: idOrName }, options) : null;
    return byId ?? namespaces.findOne({ workspaceId: WORKSPACE_ID, name: idOrName }, options);
  };

  return {
    delete: async (namespaceId, now, events, options) => {
      const update = withEvents<NamespaceDocument>({ $set: { deletedAt: now } }, events);
      return (await namespaces.updateOne({ _id: namespaceId, ...notDeleted }, update, options)).matchedCount === 1;
    },
    find,
    listPage: (ids, page, options) => readNewestPage(namespaces, ids, page, options),
    findOrCreate: ({ id, name }, now, events, options) =>
      insertOrReuse(
        () => find(name, options),
        async () => {
          const namespace: NamespaceDocument = { ...newDocument(id, now, events), name };
          await namespaces.insertOne(namespace, options);
          return namespace;
        },
      ),
  };
};
