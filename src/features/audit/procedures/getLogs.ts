import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import {
  type AuditLogSchema,
  type GetLogsRequest,
  GetLogsRequestSchema,
  type GetLogsResponseSchema,
} from "../../../../gen/latchkey/v2/audit_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { invalidInput, type Violation } from "../../../platform/base/errors.ts";
import { integerOrDefault } from "../../../platform/rpc/description/fieldDefault.ts";
import type { AuditLogDocument } from "../../../platform/storage/port/documents.ts";
import { readRfc3339, showRfc3339 } from "../../../platform/util/rfc3339.ts";
import type { Procedure } from "../../calls/call.ts";
import type { AuditEventName } from "../auditEvent.ts";
import type { AuditFilter } from "../auditFilter.ts";
import { type FindEventsDeps, findEvents } from "../findEvents.ts";
import { readChanges } from "../readChanges.ts";
import { showSequence } from "../showSequence.ts";
import { readLogCursor, showLogCursor } from "./logCursor.ts";

/** The description of an event whose texts were erased. */
const ERASED = "Erased";

type GetLogs = Procedure<typeof GetLogsRequestSchema, typeof GetLogsResponseSchema>;

interface Wanted {
  readonly filter: AuditFilter;
  readonly after: number;
  readonly violations: readonly Violation[];
}

/** Goes by what can be read of the filters, to name everything that is wrong at once: a cursor, too, is of these or it is not. */
const readRequest = ({ start: from, end: to, event, cursor, ...ids }: GetLogsRequest): Wanted => {
  const violations: Violation[] = [];
  const readTime = (text: string | undefined, location: string): number | undefined => {
    const time = text === undefined ? undefined : readRfc3339(text);
    if (text !== undefined && time === undefined) {
      violations.push({ location, message: "is no time of RFC 3339", fix: "Write it as 2026-01-31T12:00:00Z." });
    }
    return time;
  };
  const [start, end] = [readTime(from, "body.start"), readTime(to, "body.end")];
  if (start !== undefined && end !== undefined && start > end) violations.push({ location: "body.end", message: "is before the start" });
  const { actorId, resourceType, resourceId, correlationId } = ids;
  const filter: AuditFilter = { start, end, event: event?.values, actorId, resourceType, resourceId, correlationId };
  const after = readLogCursor(cursor, filter);
  if (after === undefined) {
    const fix = "Send a cursor as it was given, with the filters that it was given for, or none.";
    violations.push({ location: "body.cursor", message: "is none of these filters", fix });
  }
  return { filter, after: after ?? 0, violations };
};

const showChanges = (entry: AuditLogDocument): { changes?: { values: JsonObject[] } } => {
  const values = readChanges(entry);
  return values === undefined ? {} : { changes: { values } };
};

/** Events of what was refused (console §2.7): there are no others of this kind. */
const failures: ReadonlySet<string> = new Set<AuditEventName>(["console.sign_in_failed", "console.elevate_failed"]);

const showEntry = (entry: AuditLogDocument): MessageInitShape<typeof AuditLogSchema> => {
  const { event, sequence, hash, previousHash, insertedAt, erasure } = entry;
  return {
    auditLogId: event.id,
    version: "v1",
    time: showRfc3339(event.time),
    insertedAt: showRfc3339(insertedAt ?? event.time),
    event: event.event,
    description: erasure === undefined ? event.display : ERASED,
    outcome: failures.has(event.event) ? "failure" : "success",
    source: "platform",
    actor: event.actor,
    resources: (event.resources ?? []).map(({ type, id, name }) => ({ type, id, ...(name === undefined ? {} : { name }) })),
    context: {
      ...(event.remoteIp === undefined ? {} : { ipAddress: event.remoteIp }),
      ...(event.userAgent === undefined ? {} : { userAgent: event.userAgent }),
    },
    correlationId: event.correlationId,
    meta: { sequence: showSequence(sequence), hash, previousHash, ...showChanges(entry), ...(erasure && { erasedBy: erasure.statement }) },
  };
};

/**
 * Lists events of the audit log, ascending by their place in its chain. The cursor is there on the last page, too, and leads to what
 * is written after it; one that is damaged or of other filters is 400 (management §4, §8).
 */
export const getLogs = (deps: FindEventsDeps): GetLogs => {
  const list: GetLogs = async (request, call) => {
    const { filter, after, violations } = readRequest(request);
    if (violations.length > 0) throw invalidInput("The request does not say which events are wanted.", violations);
    requirePermissions(call.caller, ["audit.read_audit_log", "*"]);
    const limit = integerOrDefault(GetLogsRequestSchema.field.limit, request.limit);
    const found = await findEvents(deps, filter, { after, limit }, call);
    return {
      data: found.entries.map(showEntry),
      pagination: { hasMore: found.hasMore, cursor: showLogCursor(found.after, filter) },
    };
  };
  const judge: NonNullable<GetLogs["judge"]> = (request) => readRequest(request).violations;
  return Object.assign(list, { judge });
};
