import type { AuditEvent, OutboxChanges } from "../../port/auditEvents.ts";
import { type AuditedDocument, SCHEMA_VERSION, WORKSPACE_ID } from "../../port/baseDocument.ts";
import type { Update } from "../../port/collection.ts";

/** What events tell of their changes, by itself; see `AuditEvent.changes`. */
const splitChanges = (
  events: readonly AuditEvent[],
): { readonly plain: readonly AuditEvent[]; readonly told: readonly OutboxChanges[] } => ({
  plain: events.map(({ changes: _, ...event }) => event),
  told: events.flatMap(({ id, changes }) => (changes === undefined ? [] : { id, changes })),
});

/** The fields that every new audited document has, with the events of its making in its outbox. */
export const newDocument = (
  id: string,
  now: number,
  events: readonly AuditEvent[],
): Pick<AuditedDocument, "_id" | "v" | "workspaceId" | "createdAt" | "outbox" | "outboxChanges" | "pendingMark"> => {
  const last = events.at(-1);
  const { plain, told } = splitChanges(events);
  return {
    _id: id,
    v: SCHEMA_VERSION,
    workspaceId: WORKSPACE_ID,
    createdAt: now,
    ...(last === undefined ? {} : { outbox: plain, pendingMark: last.id }),
    ...(told.length === 0 ? {} : { outboxChanges: told }),
  };
};

/**
 * The same update with `events` appended to the document's outbox: change and events are one write (DESIGN §3).
 * @param outboxChanges `replace`: what is told there is of events that are gone, and goes, too.
 */
export const withEvents = <D extends AuditedDocument>(
  update: Update<D>,
  events: readonly AuditEvent[],
  outboxChanges: "append" | "replace" = "append",
): Update<D> => {
  const last = events.at(-1);
  const { plain, told } = splitChanges(events);
  const replaces = told.length > 0 && outboxChanges === "replace";
  const $set = {
    ...update.$set,
    ...(last === undefined ? {} : { pendingMark: last.id }),
    ...(replaces ? { outboxChanges: told } : {}),
  };
  // Never lowered: what was not read first may have been written by a newer version.
  const $max = { ...update.$max, v: SCHEMA_VERSION };
  const appended = told.length > 0 && !replaces ? { outboxChanges: { $each: told } } : {};
  const $push = last === undefined ? update.$push : { ...update.$push, outbox: { $each: plain }, ...appended };
  // The compiler cannot see that the fields of AuditedDocument are fields of every D.
  return {
    ...update,
    $max,
    ...(Object.keys($set).length === 0 ? {} : { $set }),
    ...($push === undefined ? {} : { $push }),
  } as unknown as Update<D>;
};

/** Filter part that leaves deleted documents out. */
export const notDeleted: { readonly deletedAt: { readonly $exists: false } } = { deletedAt: { $exists: false } };
