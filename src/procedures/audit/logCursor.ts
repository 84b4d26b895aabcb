import { hash } from "node:crypto";
import type { AuditFilter } from "../../audit/auditFilter.ts";

/** What tells a cursor of these filters, and of this number, from others and from a damaged one. */
const markOf = (sequence: string, { event, ...filter }: AuditFilter): string => {
  const names = event === undefined ? null : [...new Set(event)].sort();
  const { start = null, end = null, actorId = null, resourceType = null, resourceId = null, correlationId = null } = filter;
  const text = JSON.stringify([sequence, names, start, end, actorId, resourceType, resourceId, correlationId]);
  return hash("sha256", text, "base64url").slice(0, 16);
};

/** Behind the entry of this number, for these filters. */
export const showLogCursor = (sequence: number, filter: AuditFilter): string => `${sequence}.${markOf(`${sequence}`, filter)}`;

/** The number that a cursor of these filters is behind, 0 for an empty one; undefined for one that is damaged, or of others. */
export const readLogCursor = (cursor: string, filter: AuditFilter): number | undefined => {
  if (cursor === "") return 0;
  const end = cursor.lastIndexOf(".");
  const sequence = cursor.slice(0, Math.max(end, 0));
  if (cursor.slice(end + 1) !== markOf(sequence, filter)) return undefined;
  const number = Number(sequence);
  return String(number) === sequence && Number.isFinite(number) && number >= 0 ? number : undefined;
};
