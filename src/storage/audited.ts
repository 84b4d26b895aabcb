import type { AuditEvent } from "./auditEvents.ts";
import type { Update } from "./collection.ts";
import { type AuditedDocument, SCHEMA_VERSION, WORKSPACE_ID } from "./documents.ts";

/** The fields that every new audited document has, with the events of its making in its outbox. */
export const newDocument = (
  id: string,
  now: number,
  events: readonly AuditEvent[],
): Pick<AuditedDocument, "_id" | "v" | "workspaceId" | "createdAt" | "outbox" | "pendingMark"> => {
  const last = events.at(-1);
  return {
    _id: id,
    v: SCHEMA_VERSION,
    workspaceId: WORKSPACE_ID,
    createdAt: now,
    ...(last === undefined ? {} : { outbox: events, pendingMark: last.id }),
  };
};

/** The same update with `events` appended to the document's outbox: change and events are one write (DESIGN §3). */
export const withEvents = <D extends AuditedDocument>(update: Update<D>, events: readonly AuditEvent[]): Update<D> => {
  const last = events.at(-1);
  const $set = { ...update.$set, v: SCHEMA_VERSION, ...(last === undefined ? {} : { pendingMark: last.id }) };
  const $push = last === undefined ? update.$push : { ...update.$push, outbox: { $each: events } };
  // The compiler cannot see that the fields of AuditedDocument are fields of every D.
  return { ...update, $set, ...($push === undefined ? {} : { $push }) } as unknown as Update<D>;
};

/** Filter part that leaves deleted documents out. */
export const notDeleted: { readonly deletedAt: { readonly $exists: false } } = { deletedAt: { $exists: false } };
