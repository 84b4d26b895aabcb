import type { Behalf } from "../../platform/base/behalf.ts";
import type { AuditedCollection } from "../../platform/storage/port/auditedCollections.ts";
import { type AuditedDocument, SCHEMA_VERSION, WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { IdempotencyDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { insertUnlessThere } from "../../platform/storage/repositories/shared/insertOrReuse.ts";

export interface ReservationsRepository {
  readonly find: (id: string, behalf?: Behalf) => Promise<IdempotencyDocument | null>;
  /** False when there is one under this id. */
  readonly insert: (reservation: Omit<IdempotencyDocument, "v" | "workspaceId">, behalf?: Behalf) => Promise<boolean>;
  /** Changes it while `holder` holds it; false when it is held by another, or gone. */
  readonly update: (
    id: string,
    holder: string,
    fields: Partial<Pick<IdempotencyDocument, "holder" | "leaseUntil" | "answer" | "done">>,
    behalf?: Behalf,
  ) => Promise<boolean>;
  /** The same as long as nobody has extended or ended the lease since it was read. */
  readonly takeOver: (read: IdempotencyDocument, holder: string, leaseUntil: number, behalf?: Behalf) => Promise<boolean>;
  readonly remove: (id: string, holder: string, behalf?: Behalf) => Promise<boolean>;
  /** Whether this event was written to this document; also when the event, or the document, has moved on since. */
  readonly hasEvent: (collection: AuditedCollection, id: string, eventId: string, behalf?: Behalf) => Promise<boolean>;
  /** Whether this event has reached the audit log. */
  readonly isLogged: (eventId: string, behalf?: Behalf) => Promise<boolean>;
}

/** What is kept of calls with an Idempotency-Key (protocol §2). */
export const createReservationsRepository = (store: Store): ReservationsRepository => {
  const reservations = store.collection("idempotency");
  const audit = store.collection("audit");
  const isLogged = async (eventId: string, behalf?: Behalf): Promise<boolean> =>
    (await audit.findFields([], { _id: eventId }, behalf)).length > 0;
  return {
    find: (id, behalf) => reservations.findOne({ _id: id }, behalf),
    insert: (reservation, behalf) =>
      insertUnlessThere(reservations, { ...reservation, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID }, behalf),
    update: async (id, holder, fields, behalf) =>
      (await reservations.updateOne({ _id: id, holder }, { $set: fields }, behalf)).matchedCount === 1,
    takeOver: async ({ _id, holder: former, leaseUntil: ended }, holder, leaseUntil, behalf) => {
      const result = await reservations.updateOne({ _id, holder: former, leaseUntil: ended }, { $set: { holder, leaseUntil } }, behalf);
      return result.matchedCount === 1;
    },
    remove: async (id, holder, behalf) => (await reservations.deleteOne({ _id: id, holder }, behalf)).deletedCount === 1,
    hasEvent: async (collection, id, eventId, behalf) => {
      const document: AuditedDocument | null = await store.collection(collection as "apis").findOne({ _id: id }, behalf);
      // In this order: an event enters the log before it leaves its document.
      return document?.outbox?.some((event) => event.id === eventId) || isLogged(eventId, behalf);
    },
    isLogged,
  };
};
