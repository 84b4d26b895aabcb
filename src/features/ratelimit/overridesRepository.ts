import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { OverrideDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { newDocument, notDeleted } from "../../platform/storage/repositories/shared/audited.ts";
import { insertOrReuse } from "../../platform/storage/repositories/shared/insertOrReuse.ts";
import { createModify, createRemove, type ModifyOptions, type MoveEvents } from "../../platform/storage/repositories/shared/modify.ts";
import { type Page, type PageRequest, readPage } from "../../platform/storage/repositories/shared/page.ts";

const LOAD_AT_ONCE = 1_000;

/** An override that is not deleted: it has its identifier. */
export type LiveOverride = OverrideDocument & { readonly identifier: string };

export interface OverrideSettings {
  readonly namespaceId: string;
  readonly identifier: string;
  readonly limit: number;
  /** Milliseconds. */
  readonly duration: number;
}

export interface OverridesRepository {
  readonly find: (namespaceId: string, identifier: string, options?: OperationOptions) => Promise<LiveOverride | null>;
  /** All of a namespace. */
  readonly listAll: (namespaceId: string, options?: OperationOptions) => Promise<LiveOverride[]>;
  readonly list: (namespaceId: string, page: PageRequest, options: OperationOptions) => Promise<Page<LiveOverride>>;
  /** Creates or replaces, the former unless there is a precondition; of parallel calls the last one's values stay, and all get the same id. */
  readonly set: (
    settings: OverrideSettings,
    newId: string,
    now: number,
    events: (overrideId: string) => readonly AuditEvent[],
    options?: ModifyOptions,
  ) => Promise<string>;
  /** Frees the identifier. False when it already was. */
  readonly delete: (override: LiveOverride, now: number, events: readonly AuditEvent[], options?: ModifyOptions) => Promise<boolean>;
}

/** @param moveEvents see `createModify`. */
export const createOverridesRepository = (store: Store, moveEvents?: MoveEvents): OverridesRepository => {
  const overrides = store.collection("overrides");
  const modify = createModify(store, "overrides", moveEvents);
  const remove = createRemove(overrides, modify);
  const find: OverridesRepository["find"] = async (namespaceId, identifier, options) =>
    (await overrides.findOne({ workspaceId: WORKSPACE_ID, namespaceId, identifier, ...notDeleted }, options)) as LiveOverride | null;
  const list: OverridesRepository["list"] = async (namespaceId, page, options) =>
    (await readPage(overrides, { workspaceId: WORKSPACE_ID, namespaceId }, page, options)) as Page<LiveOverride>;

  return {
    find,
    list,
    listAll: async (namespaceId, options = {}) => {
      const all: LiveOverride[] = [];
      for (let cursor: string | undefined = ""; cursor !== undefined; ) {
        const page: Page<LiveOverride> = await list(namespaceId, { limit: LOAD_AT_ONCE, cursor }, options);
        all.push(...page.items);
        cursor = page.next;
      }
      return all;
    },
    set: async ({ namespaceId, identifier, limit, duration }, newId, now, events, options) => {
      for (;;) {
        const current = await insertOrReuse<OverrideDocument>(
          () => find(namespaceId, identifier, options),
          async () => {
            options?.precondition?.ensure(null);
            const override: OverrideDocument = { ...newDocument(newId, now, events(newId)), namespaceId, identifier, limit, duration };
            await overrides.insertOne(override, options);
            return override;
          },
        );
        if (current._id === newId) return newId;
        const replaced = await modify(
          current._id,
          ({ updatedAt = 0 }) => ({
            update: { $set: { limit, duration, updatedAt: Math.max(updatedAt, now) } },
            events: events(current._id),
            guard: { namespaceId },
          }),
          options,
        );
        if (replaced !== null) return current._id;
      }
    },
    delete: ({ _id, namespaceId }, now, events, options) =>
      remove(_id, { $set: { deletedAt: now, erased: true }, $unset: { identifier: "" } }, events, options, { filter: { namespaceId } }),
  };
};
