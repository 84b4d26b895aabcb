import { type AuditedDocument, SCHEMA_VERSION, WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { BulkOperation, Collection } from "../../platform/storage/port/collection.ts";
import type { KeyDocument, RoleDocument } from "../../platform/storage/port/documents.ts";
import type { SweepDocument } from "../../platform/storage/port/internalDocuments.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import type { SweptCollection } from "../../platform/storage/port/sweptCollections.ts";

/** The one walk there is at a time; every node goes on with it. */
const WALK = "references";

/** What is known of a walk beside its place in the store. */
export type Walk = Pick<SweepDocument, "permissionIds" | "roleIds" | "stage" | "after">;

/** What one batch did. */
export interface Batch {
  /** Documents removed or changed. */
  readonly swept: number;
  /** Id of the last document that was looked at; undefined when there are no more. */
  readonly next: string | undefined;
}

export interface SweepsRepository {
  /** Ids of objects that were deleted at `until` (Unix ms) or before and are not swept yet, up to `limit`, the oldest first. */
  readonly findDue: (collection: SweptCollection, until: number, limit: number) => Promise<readonly string[]>;
  /** Removes up to `limit` keys of a deleted API; those whose events have not been moved yet stay. */
  readonly removeKeys: (apiId: string, limit: number) => Promise<Batch>;
  readonly hasKeys: (apiId: string) => Promise<boolean>;
  /** Takes deleted identities from up to `limit` keys. */
  readonly detachIdentities: (identityIds: readonly string[], limit: number) => Promise<Batch>;
  readonly findWalk: () => Promise<Walk | null>;
  readonly saveWalk: (walk: Walk) => Promise<void>;
  readonly endWalk: () => Promise<void>;
  /** Takes the ids of deleted permissions and roles out of up to `limit` documents behind `after`. */
  readonly pullIds: (from: "roles" | "keys", walk: Walk, limit: number) => Promise<Batch>;
  /** Removes the rows of swept objects, but for those whose events have not been moved yet; true when all are gone. */
  readonly removeRows: (collection: SweptCollection, ids: readonly string[]) => Promise<boolean>;
}

/** What a sweep changes means nothing to anybody. It counts all the same, so that a change decided before it is decided again, but quietly. */
const counted = { $inc: { revision: 1, quietRevisions: 1 }, $max: { v: SCHEMA_VERSION } } as const;

const batchOf = (found: readonly { readonly _id: string }[], swept: number, limit: number): Batch => ({
  swept,
  next: found.length < limit ? undefined : found.at(-1)?._id,
});

/** What still holds ids of deleted objects (DESIGN §3). Everything here may be done twice, and by several nodes at once. */
export const createSweepsRepository = (store: Store): SweepsRepository => {
  const keys = store.collection("keys");
  const roles = store.collection("roles");
  const sweeps = store.collection("sweeps");
  // The compiler cannot see that the fields of AuditedDocument are fields of all four.
  const swept = (name: SweptCollection): Collection<AuditedDocument> => store.collection(name as "apis");
  const settled = { pendingMark: { $exists: false } } as const;

  return {
    findDue: async (collection, until, limit) => {
      const due = await swept(collection).findFields([], { sweepFrom: { $lte: until } }, { sort: { sweepFrom: 1 }, limit });
      return due.map(({ _id }) => _id);
    },
    removeKeys: async (apiId, limit) => {
      // In no order: a server that cannot sort by its index would look at all keys of the API for each batch. Those with events
      // are among them: leaving them out, a batch would look at all of them again.
      const found = await keys.findFields([], { workspaceId: WORKSPACE_ID, apiId }, { limit });
      if (found.length === 0) return batchOf(found, 0, limit);
      const { deletedCount } = await keys.deleteMany({ _id: { $in: found.map(({ _id }) => _id) }, ...settled });
      return batchOf(deletedCount === 0 ? [] : found, deletedCount, limit);
    },
    hasKeys: async (apiId) => (await keys.findFields([], { workspaceId: WORKSPACE_ID, apiId }, { limit: 1 })).length > 0,
    detachIdentities: async (identityIds, limit) => {
      const found = await keys.findFields(["identityId"], { workspaceId: WORKSPACE_ID, identityId: { $in: identityIds } }, { limit });
      if (found.length > 0) {
        await keys.bulkWrite(
          found.flatMap(({ _id, identityId }) =>
            identityId === undefined
              ? []
              : [{ updateOne: { filter: { _id, identityId }, update: { ...counted, $unset: { identityId: "" as const } } } }],
          ),
        );
      }
      return batchOf(found, found.length, limit);
    },
    findWalk: () => sweeps.findOne({ _id: WALK }),
    saveWalk: async ({ permissionIds, roleIds, stage, after }) => {
      const walk = { v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, permissionIds, roleIds, stage, after };
      await sweeps.updateOne({ _id: WALK }, { $set: walk }, { upsert: true });
    },
    endWalk: async () => {
      await sweeps.deleteOne({ _id: WALK });
    },
    pullIds: async (from, { permissionIds, roleIds, after }, limit) => {
      const [deadPermissions, deadRoles] = [new Set(permissionIds), new Set(roleIds)];
      const behind = after === "" ? {} : { _id: { $gt: after } };
      const page = { sort: { _id: 1 }, limit, ofAnyVersion: true } as const;
      if (from === "roles") {
        const found = await roles.find(behind, page).toArray();
        const changes = found.flatMap((role): BulkOperation<RoleDocument>[] => {
          const held = role.permissionIds.filter((id) => deadPermissions.has(id));
          if (held.length === 0) return [];
          return [{ updateOne: { filter: { _id: role._id }, update: { ...counted, $pull: { permissionIds: { $in: held } } } } }];
        });
        if (changes.length > 0) await roles.bulkWrite(changes);
        return batchOf(found, changes.length, limit);
      }
      const found = await keys.find(behind, page).toArray();
      const changes = found.flatMap((key): BulkOperation<KeyDocument>[] => {
        const held = key.permissionIds.filter((id) => deadPermissions.has(id));
        const heldRoles = key.roleIds.filter((id) => deadRoles.has(id));
        if (held.length + heldRoles.length === 0) return [];
        const $pull = { permissionIds: { $in: held }, roleIds: { $in: heldRoles } };
        return [{ updateOne: { filter: { _id: key._id }, update: { ...counted, $pull } } }];
      });
      if (changes.length > 0) await keys.bulkWrite(changes);
      return batchOf(found, changes.length, limit);
    },
    removeRows: async (collection, ids) => {
      if (ids.length === 0) return true;
      const among = { _id: { $in: ids }, sweepFrom: { $exists: true } } as const;
      await swept(collection).deleteMany({ ...among, ...settled });
      return (await swept(collection).findFields([], among, { limit: 1 })).length === 0;
    },
  };
};
