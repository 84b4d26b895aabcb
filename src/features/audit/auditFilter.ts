import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { AuditTerm } from "./auditIndexRepository.ts";

/** Which events of the log are asked for; what is left out is no condition (management §4). */
export interface AuditFilter {
  /** Unix ms, inclusive. */
  readonly start?: number | undefined;
  /** Unix ms, exclusive. */
  readonly end?: number | undefined;
  /** One of these names. */
  readonly event?: readonly string[] | undefined;
  readonly actorId?: string | undefined;
  /** Together with `resourceId`: of one and the same resource. */
  readonly resourceType?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly correlationId?: string | undefined;
}

const isOrUnset = (wanted: string | undefined, value: string | undefined): boolean => wanted === undefined || wanted === value;

/** Also of an event that was altered so much that it is none any more, which then has nothing that could be wanted. */
export const matchesFilter = (filter: AuditFilter, event: AuditEvent): boolean =>
  event.time >= (filter.start ?? Number.NEGATIVE_INFINITY) &&
  event.time < (filter.end ?? Number.POSITIVE_INFINITY) &&
  (filter.event === undefined || filter.event.includes(event.event)) &&
  isOrUnset(filter.actorId, event.actor?.id) &&
  isOrUnset(filter.correlationId, event.correlationId) &&
  ((filter.resourceType === undefined && filter.resourceId === undefined) ||
    (event.resources ?? []).some(({ type, id }) => isOrUnset(filter.resourceType, type) && isOrUnset(filter.resourceId, id)));

/** What an entry must have to be found: one term of each list. */
export const termsOfFilter = ({ event, ...filter }: AuditFilter): readonly (readonly AuditTerm[])[] => [
  ...(event === undefined ? [] : [event.map((value): AuditTerm => ({ kind: "event", value }))]),
  ...(["actorId", "resourceType", "resourceId", "correlationId"] as const).flatMap((kind) => {
    const value = filter[kind];
    return value === undefined ? [] : [[{ kind, value }]];
  }),
];
