import { nameKeyOf } from "../../features/keys/keySearchRepository.ts";
import type { BulkOperation } from "../../platform/storage/port/collection.ts";
import type { IdentityDocument, KeyDocument } from "../../platform/storage/port/documents.ts";
import type { BackfillState, SystemDocument } from "../../platform/storage/port/internalDocuments.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { foldCase } from "../../platform/util/foldCase.ts";

/** The schema from which on every write keeps these texts in step. */
export const SEARCHABLE_SINCE = 3;

/** What one batch did. */
export interface Filled {
  readonly lookedAt: number;
  readonly filled: number;
  /** Id of the last document that was looked at; undefined when there are no more. */
  readonly next: string | undefined;
}

export interface BackfillsRepository {
  /** The store's own row, which says which version made it and how far the walk has come; null: nobody has made the store. */
  readonly find: () => Promise<SystemDocument | null>;
  readonly save: (state: BackfillState) => Promise<void>;
  /** Puts the `nameKey` of up to `limit` keys behind `after` in step with their names. */
  readonly fillKeys: (after: string, limit: number) => Promise<Filled>;
  /** Puts the `externalKey` of up to `limit` identities behind `after` in step with their externalIds. */
  readonly fillIdentities: (after: string, limit: number) => Promise<Filled>;
}

const filledOf = (found: readonly { readonly _id: string }[], filled: number, limit: number): Filled => ({
  lookedAt: found.length,
  filled,
  next: found.length < limit ? undefined : found.at(-1)?._id,
});

/**
 * The texts without letter case by which keys and identities are searched, in documents that an earlier version wrote. Each is
 * written only while what it is made of stands, so that a change at the same time wins. Nothing that anybody configured changes:
 * neither does the revision, nor is there an event. Everything here may be done twice, and by several nodes at once.
 */
export const createBackfillsRepository = (store: Store): BackfillsRepository => {
  const keys = store.collection("keys");
  const identities = store.collection("identities");
  const system = store.collection("system");
  const behind = (after: string): { readonly _id?: { readonly $gt: string } } => (after === "" ? {} : { _id: { $gt: after } });

  return {
    find: () => system.findOne({ _id: "schema" }),
    save: async (backfill) => {
      await system.updateOne({ _id: "schema" }, { $set: { backfill } });
    },
    fillKeys: async (after, limit) => {
      const found = await keys.find(behind(after), { sort: { _id: 1 }, limit }).toArray();
      const changes = found.flatMap(({ _id, name, nameKey, deletedAt }): BulkOperation<KeyDocument>[] => {
        const wanted = name === undefined ? undefined : nameKeyOf(name);
        if (deletedAt !== undefined || wanted === nameKey) return [];
        const update = wanted === undefined ? { $unset: { nameKey: "" as const } } : { $set: { nameKey: wanted } };
        return [{ updateOne: { filter: { _id, name: name ?? { $exists: false } }, update } }];
      });
      if (changes.length > 0) await keys.bulkWrite(changes);
      return filledOf(found, changes.length, limit);
    },
    fillIdentities: async (after, limit) => {
      const fields = ["externalId", "externalKey"] as const;
      const found = await identities.findFields(fields, behind(after), { sort: { _id: 1 }, limit });
      const changes = found.flatMap(({ _id, externalId, externalKey }): BulkOperation<IdentityDocument>[] => {
        if (externalId === undefined || foldCase(externalId) === externalKey) return [];
        return [{ updateOne: { filter: { _id, externalId }, update: { $set: { externalKey: foldCase(externalId) } } } }];
      });
      if (changes.length > 0) await identities.bulkWrite(changes);
      return filledOf(found, changes.length, limit);
    },
  };
};
