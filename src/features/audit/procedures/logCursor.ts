import { openCursor, sealCursor } from "../../calls/sealedCursor.ts";
import type { AuditFilter } from "../auditFilter.ts";

/** What tells the cursors of these filters from others. */
const ownerOf = ({ event, ...filter }: AuditFilter): string => {
  const names = event === undefined ? null : [...new Set(event)].sort();
  const { start = null, end = null, actorId = null, resourceType = null, resourceId = null, correlationId = null } = filter;
  return JSON.stringify(["audit.getLogs", names, start, end, actorId, resourceType, resourceId, correlationId]);
};

/** Behind the entry of this number, for these filters. */
export const showLogCursor = (sequence: number, filter: AuditFilter): string => sealCursor(ownerOf(filter), String(sequence));

/** The number that a cursor of these filters is behind, 0 for an empty one; undefined for one that is damaged, or of others. */
export const readLogCursor = (cursor: string, filter: AuditFilter): number | undefined => {
  const sequence = openCursor(ownerOf(filter), cursor);
  if (sequence === undefined) return undefined;
  const number = Number(sequence);
  // An empty one is 0; what was not given out may say anything.
  return sequence === "" || (String(number) === sequence && Number.isFinite(number) && number >= 0) ? number : undefined;
};
