import type { AuditEvent, AuditResource } from "../../platform/storage/port/auditEvents.ts";
import type { StoredRatelimit } from "../../platform/storage/port/documents.ts";
import { changesOfRatelimit } from "../../platform/storage/repositories/shared/describeChanges.ts";
import { type AuditSource, auditEvent, resource } from "../audit/auditEvent.ts";

const isSame = (a: StoredRatelimit, b: StoredRatelimit): boolean =>
  a.limit === b.limit && a.duration === b.duration && a.autoApply === b.autoApply;

/** One event per limit that an identity gains, loses or changes (protocol §11); none for those that stay as they are. */
export const ratelimitEvents = (
  source: AuditSource,
  identity: AuditResource,
  before: readonly StoredRatelimit[],
  after: readonly StoredRatelimit[],
): AuditEvent[] => {
  const old = new Map(before.map((limit) => [limit.id, limit]));
  const kept = new Set(after.map((limit) => limit.id));
  const target = ({ id, name }: StoredRatelimit): AuditResource => resource("ratelimit", id, name);
  const events = after.flatMap((limit) => {
    const previous = old.get(limit.id);
    if (previous === undefined) return auditEvent(source, "ratelimit.create", `Created rate limit ${limit.name}`, target(limit), identity);
    if (isSame(previous, limit)) return [];
    const event = auditEvent(source, "ratelimit.update", `Updated rate limit ${limit.name}`, target(limit), identity);
    return { ...event, changes: changesOfRatelimit(previous, limit) };
  });
  const gone = before.filter((limit) => !kept.has(limit.id));
  return [
    ...events,
    ...gone.map((limit) => auditEvent(source, "ratelimit.delete", `Deleted rate limit ${limit.name}`, target(limit), identity)),
  ];
};
