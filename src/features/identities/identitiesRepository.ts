import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions, Update } from "../../platform/storage/port/collection.ts";
import type { IdentityDocument, StoredRatelimit } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { newDocument, notDeleted } from "../../platform/storage/repositories/shared/audited.ts";
import { insertOrReuse } from "../../platform/storage/repositories/shared/insertOrReuse.ts";
import { createModify, type Modify, type ModifyOptions, type MoveEvents } from "../../platform/storage/repositories/shared/modify.ts";
import { type Page, type PageRequest, readPage, searchText } from "../../platform/storage/repositories/shared/page.ts";
import { foldCase } from "../../platform/util/foldCase.ts";

export interface NewIdentity {
  readonly id: string;
  readonly externalId: string;
  /** JSON text of an object. */
  readonly meta?: string;
  readonly ratelimits?: readonly StoredRatelimit[];
}

export interface IdentitiesRepository {
  readonly find: (identityId: string, options?: OperationOptions) => Promise<IdentityDocument | null>;
  readonly findByExternalId: (externalId: string, options?: OperationOptions) => Promise<IdentityDocument | null>;
  /** Those of the ids whose identity is not deleted, in no order. */
  readonly findMany: (ids: readonly string[], options?: OperationOptions) => Promise<IdentityDocument[]>;
  /** The ids of those that live, in no order. */
  readonly findIdsByExternalId: (
    externalIds: readonly string[],
    options?: OperationOptions,
  ) => Promise<readonly Pick<IdentityDocument, "_id" | "externalId">[]>;
  readonly list: (page: PageRequest, options: OperationOptions) => Promise<Page<IdentityDocument>>;
  /** Rejects with `DuplicateKeyError` when a live identity has the externalId. */
  readonly insert: (
    identity: NewIdentity,
    now: number,
    events: readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<IdentityDocument>;
  /** In order; stops with `DuplicateKeyError` at the first whose externalId a live identity has. */
  readonly insertMany: (
    identities: readonly { readonly identity: NewIdentity; readonly events: readonly AuditEvent[] }[],
    now: number,
    options?: OperationOptions,
  ) => Promise<void>;
  /** The live identity of this externalId, made if there is none (keys §1.7). */
  readonly findOrCreate: (
    identity: NewIdentity,
    now: number,
    events: readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<IdentityDocument>;
  readonly modify: Modify<IdentityDocument>;
  /**
   * Deletes an identity whose keys are looked for next: no sweep takes it from them, until `ErasuresRepository.release`. False when
   * it already was.
   * @param eventsOf the events of deleting the identity as it is by then
   */
  readonly deleteToErase: (
    identityId: string,
    now: number,
    eventsOf: (identity: IdentityDocument) => readonly AuditEvent[],
    options?: ModifyOptions,
  ) => Promise<boolean>;
}

const names = { externalId: "", externalKey: "", search: "" } as const;

/** The update that deletes an identity for good and frees its externalId. Its keys keep the id of what is gone. */
export const deletionOfIdentity = (now: number): Update<IdentityDocument> => ({
  $set: { deletedAt: now, erased: true, sweepFrom: now },
  $unset: names,
});

/** @param moveEvents see `createModify`. */
export const createIdentitiesRepository = (store: Store, moveEvents?: MoveEvents): IdentitiesRepository => {
  const identities = store.collection("identities");
  const modify = createModify(store, "identities", moveEvents);

  const findByExternalId: IdentitiesRepository["findByExternalId"] = (externalId, options) =>
    identities.findOne({ workspaceId: WORKSPACE_ID, externalId, ...notDeleted }, options);

  const newIdentity = (
    { id, externalId, meta, ratelimits = [] }: NewIdentity,
    now: number,
    events: readonly AuditEvent[],
  ): IdentityDocument => ({
    ...newDocument(id, now, events),
    externalId,
    externalKey: foldCase(externalId),
    search: searchText(id, externalId),
    ...(meta === undefined ? {} : { meta }),
    ratelimits,
    revision: 0,
  });

  const insert: IdentitiesRepository["insert"] = async (identity, now, events, options) => {
    const document = newIdentity(identity, now, events);
    await identities.insertOne(document, options);
    return document;
  };

  return {
    find: (identityId, options) => identities.findOne({ _id: identityId, ...notDeleted }, options),
    findByExternalId,
    findMany: (ids, options) => identities.find({ _id: { $in: ids }, ...notDeleted }, options).toArray(),
    findIdsByExternalId: (externalIds, options) =>
      identities.findFields(["externalId"], { workspaceId: WORKSPACE_ID, externalId: { $in: externalIds }, ...notDeleted }, options),
    list: (page, options) => readPage(identities, {}, page, options),
    insert,
    insertMany: async (made, now, options) => {
      await identities.insertMany(
        made.map(({ identity, events }) => newIdentity(identity, now, events)),
        options,
      );
    },
    findOrCreate: (identity, now, events, options) =>
      insertOrReuse(
        () => findByExternalId(identity.externalId, options),
        () => insert(identity, now, events, options),
      ),
    modify,
    deleteToErase: async (identityId, now, eventsOf, options) => {
      const update = { $set: { deletedAt: now }, $unset: { ...names, meta: "" } } as const;
      return (await modify(identityId, (identity) => ({ update, events: eventsOf(identity) }), options)) !== null;
    },
  };
};
