import type { AuditEvent, OutboxChanges } from "../../src/platform/storage/port/auditEvents.ts";
import { auditedCollections } from "../../src/platform/storage/port/auditedCollections.ts";
import type { CollectionName } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";

const allOf = async (store: Store, name: CollectionName): Promise<Record<string, unknown>[]> => {
  const documents = await store
    .collection(name as "apis")
    .find({})
    .toArray();
  return documents as unknown as Record<string, unknown>[];
};

type Contents = Readonly<Partial<Record<CollectionName, Record<string, unknown>[]>>>;

/** All documents that carry events or are made of one; the log last, as an event enters it before it leaves its document. */
const contentsOf = async (store: Store): Promise<Contents> => {
  const contents: Partial<Record<CollectionName, Record<string, unknown>[]>> = {};
  for (const name of [...auditedCollections, "audit"] as const) contents[name] = await allOf(store, name);
  return contents;
};

const eventsOf = ({ audit = [], ...carriers }: Contents): AuditEvent[] => {
  const events = new Map<string, AuditEvent>();
  for (const { outbox, outboxChanges } of Object.values(carriers).flat()) {
    const told = new Map(((outboxChanges as OutboxChanges[] | undefined) ?? []).map(({ id, changes }) => [id, { changes }]));
    for (const event of (outbox as AuditEvent[] | undefined) ?? []) events.set(event.id, { ...event, ...told.get(event.id) });
  }
  for (const { event } of audit) events.set((event as AuditEvent).id, event as AuditEvent);
  return [...events.values()].sort((a, b) => a.time - b.time);
};

/** Every audit event there is, whether it still waits in a document or has reached the log; each once, oldest call first. */
export const eventsIn = async (store: Store): Promise<AuditEvent[]> => eventsOf(await contentsOf(store));

/** The events of changes that the root key of this name made. */
export const eventsBy = async (store: Store, rootKeyName: string): Promise<AuditEvent[]> =>
  (await eventsIn(store)).filter(({ actor }) => actor.name === rootKeyName);

/**
 * Everything that calls can have written, comparable with `toEqual`: objects by collection, and the ids of audit
 * events. Left out are the test's own root keys, rows that go as soon as their last event has left them, and the time of
 * the last use, which follows verifications in its own time.
 */
export const everythingIn = async (store: Store): Promise<Record<string, unknown>> => {
  const contents = await contentsOf(store);
  const events = eventsOf(contents).filter(({ event }) => !event.startsWith("rootKey."));
  const content: Record<string, unknown> = { events: events.map(({ id }) => id).sort() };
  for (const name of ["apis", "keys", "identities", "permissions", "roles"] as const) {
    const documents = (contents[name] ?? []).filter(({ erased }) => erased !== true);
    documents.sort((a, b) => (String(a._id) < String(b._id) ? -1 : 1));
    // Where an event waits is not what was written.
    content[name] = documents.map(({ outbox: _outbox, outboxChanges: _told, pendingMark: _mark, lastUsedAt: _used, ...rest }) => rest);
  }
  return content;
};
