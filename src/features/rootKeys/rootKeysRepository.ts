import { isDeepStrictEqual } from "node:util";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { RootKeyDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { notDeleted } from "../../platform/storage/repositories/shared/audited.ts";
import {
  createModify,
  createRemove,
  type Modify,
  type ModifyOptions,
  type MoveEvents,
} from "../../platform/storage/repositories/shared/modify.ts";
import { type Page, type PageRequest, readPage } from "../../platform/storage/repositories/shared/page.ts";

const PAGE = 500;
const DAY_MS = 86_400_000;
/** How long a use of a permission is remembered (management §5). */
const USE_KEPT_MS = 30 * DAY_MS;
/** As many permissions as a root key has at a time: what it had before gives way. */
const MOST_USES = 1_000;

type UsedPermissions = NonNullable<RootKeyDocument["usedPermissions"]>;

const mergeUses = (known: UsedPermissions, uses: ReadonlyMap<string, number>): UsedPermissions => {
  const all = new Map(known.map(({ permission, lastUsedAt }) => [permission, lastUsedAt]));
  for (const [permission, at] of uses) all.set(permission, Math.max(at, all.get(permission) ?? 0));
  const since = Math.max(...all.values()) - USE_KEPT_MS;
  return [...all]
    .map(([permission, lastUsedAt]) => ({ permission, lastUsedAt }))
    .filter(({ lastUsedAt }) => lastUsedAt > since)
    .sort((a, b) => b.lastUsedAt - a.lastUsedAt)
    .slice(0, MOST_USES)
    .sort((a, b) => (a.permission < b.permission ? -1 : 1));
};

export interface RootKeysRepository {
  readonly find: (rootKeyId: string, options?: OperationOptions) => Promise<RootKeyDocument | null>;
  readonly findByHash: (hash: string, options?: OperationOptions) => Promise<RootKeyDocument | null>;
  /** One page of those that are not deleted; `ids`: only these. */
  readonly listPage: (ids: ReadonlySet<string> | undefined, page: PageRequest, options: OperationOptions) => Promise<Page<RootKeyDocument>>;
  /** Deletes for good: its calls are unauthenticated from then on. False when it already was. */
  readonly delete: (rootKey: RootKeyDocument, now: number, events: readonly AuditEvent[], options?: ModifyOptions) => Promise<boolean>;
  /** All that are not deleted, ascending by id. */
  readonly list: (options?: OperationOptions) => Promise<RootKeyDocument[]>;
  /** Notes when root keys were used last; touches nothing else of them, and never goes back. */
  readonly markUsed: (times: ReadonlyMap<string, number>) => Promise<void>;
  /**
   * Notes when permissions of root keys were used last (Unix ms, by permission, by root key), and forgets uses of more than 30
   * days ago: one read and one write for all of them, and once more where another node wrote meanwhile.
   */
  readonly noteUses: (uses: ReadonlyMap<string, ReadonlyMap<string, number>>, options?: OperationOptions) => Promise<void>;
  readonly insert: (rootKey: RootKeyDocument, options?: OperationOptions) => Promise<void>;
  /** Those of the hashes that a root key has. */
  readonly findTakenHashes: (hashes: readonly string[], options?: OperationOptions) => Promise<ReadonlySet<string>>;
  readonly modify: Modify<RootKeyDocument>;
}

/** @param moveEvents see `createModify`. */
export const createRootKeysRepository = (store: Store, moveEvents?: MoveEvents): RootKeysRepository => {
  const rootKeys = store.collection("rootKeys");
  const modify = createModify(store, "rootKeys", moveEvents);
  const remove = createRemove(rootKeys, modify);
  return {
    find: (rootKeyId, options) => rootKeys.findOne({ _id: rootKeyId, ...notDeleted }, options),
    findByHash: (hash, options) => rootKeys.findOne({ workspaceId: WORKSPACE_ID, hash, ...notDeleted }, options),
    listPage: async (ids, page, options) => {
      if (ids === undefined) return readPage(rootKeys, {}, page, options);
      // A root key has at most a thousand permissions, so at most as many ids.
      return readPage(rootKeys, { _id: { $in: [...ids] } }, page, options);
    },
    delete: ({ _id }, now, events, options) =>
      remove(_id, { $set: { deletedAt: now, erased: true }, $unset: { hash: "" } }, events, options),
    list: async (options) => {
      const all: RootKeyDocument[] = [];
      for (let after = ""; ; ) {
        const page = await rootKeys
          .find({ _id: { $gt: after }, ...notDeleted }, { signal: options?.signal, sort: { _id: 1 }, limit: PAGE })
          .toArray();
        all.push(...page);
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) return all;
        after = last._id;
      }
    },
    markUsed: async (times) => {
      await rootKeys.bulkWrite(
        [...times].map(([_id, lastUsedAt]) => ({ updateOne: { filter: { _id }, update: { $max: { lastUsedAt } } } })),
      );
    },
    noteUses: async (uses, { signal, caller } = {}) => {
      for (let ids = [...uses.keys()]; ids.length > 0; ) {
        const found = await rootKeys.find({ _id: { $in: ids }, ...notDeleted }, { signal, caller }).toArray();
        const writes = found.flatMap(({ _id, usedPermissions = [], usesRevision }) => {
          const merged = mergeUses(usedPermissions, uses.get(_id) ?? new Map());
          if (isDeepStrictEqual(merged, usedPermissions)) return [];
          const isUnchanged = { usesRevision: usesRevision ?? { $exists: false } } as const;
          const $set = { usedPermissions: merged, usesRevision: (usesRevision ?? 0) + 1 };
          return [{ updateOne: { filter: { _id, ...isUnchanged, ...notDeleted }, update: { $set } } }];
        });
        if (writes.length > 0) await rootKeys.bulkWrite(writes, { signal, caller });
        // Another node may have written its own meanwhile: nothing tells which of them were matched.
        ids = writes.map(({ updateOne }) => updateOne.filter._id);
      }
    },
    insert: async (rootKey, options) => {
      await rootKeys.insertOne(rootKey, options);
    },
    findTakenHashes: async (hashes, options) => {
      const taken = await rootKeys.findFields(["hash"], { workspaceId: WORKSPACE_ID, hash: { $in: hashes } }, options);
      return new Set(taken.flatMap(({ hash }) => (hash === undefined ? [] : [hash])));
    },
    modify,
  };
};
