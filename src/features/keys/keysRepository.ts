import type { Behalf } from "../../platform/base/behalf.ts";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { Filter, OperationOptions } from "../../platform/storage/port/collection.ts";
import type { KeyDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { notDeleted } from "../../platform/storage/repositories/shared/audited.ts";
import {
  createModify,
  createRecordEvents,
  createRemove,
  type Modification,
  type Modify,
  type ModifyOptions,
  type MoveEvents,
  type RecordEvents,
} from "../../platform/storage/repositories/shared/modify.ts";
import { type Page, type PageRequest, readPage } from "../../platform/storage/repositories/shared/page.ts";

/** A change of a key's configuration. */
export type KeyModification = Modification<KeyDocument>;

export interface KeysRepository {
  /** The key unless it is deleted; whether its API lives is the caller's question. */
  readonly find: (keyId: string, options?: OperationOptions) => Promise<KeyDocument | null>;
  readonly findByHash: (hash: string, options?: OperationOptions) => Promise<KeyDocument | null>;
  /** Keys of one API, of one identity if told. */
  readonly list: (
    owner: { readonly apiId: string; readonly identityId?: string },
    page: PageRequest,
    options: OperationOptions,
  ) => Promise<Page<KeyDocument>>;
  /** Those of the hashes that some key has, deleted ones included, with the ids of these keys. */
  readonly findTakenHashes: (hashes: readonly string[], options?: OperationOptions) => Promise<Map<string, string>>;
  /** Those of the ids that exist, of deleted keys included. */
  readonly findPresent: (ids: readonly string[], options?: OperationOptions) => Promise<Set<string>>;
  /** Several new keys, in order; stops with `DuplicateKeyError` at the first whose id or hash is taken. */
  readonly insertMany: (keys: readonly KeyDocument[], options?: OperationOptions) => Promise<void>;
  /** Notes when keys were used last; touches nothing else of them, and never goes back. */
  readonly markUsed: (times: ReadonlyMap<string, number>) => Promise<void>;
  /** Rejects with `DuplicateKeyError` when the id or the hash is taken. */
  readonly insert: (key: KeyDocument, options?: OperationOptions) => Promise<void>;
  /** Changes the configuration of a key. Spending credits is no change of configuration. */
  readonly modify: Modify<KeyDocument>;
  /** Adds events to the key's outbox and changes nothing else. False when there is no such key (any more). */
  readonly recordEvents: RecordEvents<KeyDocument>;
  /** Marks the key as deleted; its hash stays taken, its encrypted secret goes. False when it already was. */
  readonly delete: (key: KeyDocument, now: number, events: readonly AuditEvent[], options?: ModifyOptions) => Promise<boolean>;
  /** Deletes for good: the hash is free again at once, the row goes when its events have been moved. */
  readonly erase: (key: KeyDocument, now: number, events: readonly AuditEvent[], options?: ModifyOptions) => Promise<boolean>;
  /**
   * Takes `amount` credits (0 or more) if the balance allows it, in one conditional write. The document as it is
   * afterwards, or null when the key is deleted, unlimited, or its balance too small.
   */
  readonly spend: (keyId: string, amount: number, behalf?: Behalf) => Promise<KeyDocument | null>;
}

/** Guard of a change that depends on the balance, too: matches the key as long as it has the same balance and the same refills in it. */
export const balanceOf = ({ remaining, refilledAt }: KeyDocument): Filter<KeyDocument> => ({
  remaining: remaining ?? { $exists: false },
  refilledAt: refilledAt ?? { $exists: false },
});

/** @param moveEvents see `createModify`. */
export const createKeysRepository = (store: Store, moveEvents?: MoveEvents): KeysRepository => {
  const keys = store.collection("keys");

  const find: KeysRepository["find"] = (keyId, options) => keys.findOne({ _id: keyId, ...notDeleted }, options);

  const modify = createModify(store, "keys", moveEvents);
  const remove = createRemove(keys, modify);

  return {
    find,
    findByHash: (hash, options) => keys.findOne({ workspaceId: WORKSPACE_ID, hash, ...notDeleted }, options),
    list: (owner, page, options) => readPage(keys, { workspaceId: WORKSPACE_ID, ...owner }, page, options),
    findTakenHashes: async (hashes, options) => {
      // In this order: a hash moves from the first field to the second, never back.
      const present = await keys.findFields(["hash"], { workspaceId: WORKSPACE_ID, hash: { $in: hashes } }, options);
      const replaced = await keys.findFields(["importedHash"], { workspaceId: WORKSPACE_ID, importedHash: { $in: hashes } }, options);
      const taken = new Map<string, string>();
      for (const { hash, _id } of present) if (hash !== undefined) taken.set(hash, _id);
      for (const { importedHash, _id } of replaced) if (importedHash !== undefined) taken.set(importedHash, _id);
      return taken;
    },
    findPresent: async (ids, options) => new Set((await keys.findFields([], { _id: { $in: ids } }, options)).map(({ _id }) => _id)),
    insertMany: async (documents, options) => {
      await keys.insertMany(documents, options);
    },
    markUsed: async (times) => {
      await keys.bulkWrite([...times].map(([_id, lastUsedAt]) => ({ updateOne: { filter: { _id }, update: { $max: { lastUsedAt } } } })));
    },
    insert: async (key, options) => {
      await keys.insertOne(key, options);
    },
    modify,
    recordEvents: createRecordEvents(keys, moveEvents),
    delete: ({ _id }, now, events, options) => remove(_id, { $set: { deletedAt: now }, $unset: { encrypted: "" } }, events, options),
    erase: ({ _id }, now, events, options) =>
      remove(
        _id,
        {
          $set: { deletedAt: now, erased: true, permissionIds: [], roleIds: [], ratelimits: [], start: "" },
          $unset: {
            hash: "",
            importedHash: "",
            pendingMigrationId: "",
            encrypted: "",
            meta: "",
            name: "",
            identityId: "",
            nameKey: "",
            lastFour: "",
          },
        },
        events,
        options,
      ),
    spend: (keyId, amount, behalf) =>
      keys.findOneAndUpdate(
        { _id: keyId, remaining: { $gte: amount }, ...notDeleted },
        { $inc: { remaining: -amount } },
        { caller: behalf?.caller, returnDocument: "after" },
      ),
  };
};
