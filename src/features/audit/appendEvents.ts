import type { Clock } from "../../platform/base/clock.ts";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import { DuplicateKeyError } from "../../platform/storage/port/errors.ts";
import type { AuditLogRepository } from "./auditLogRepository.ts";
import { AUDIT_FORMAT, chainHash, GENESIS, newSalt } from "./chainHash.ts";

/** An entry's event, and the form in its entry: the first one has no room for `changes`, and no number either. */
const inForm = ({ changes, ...plain }: AuditEvent, format: number): Pick<AuditLogDocument, "event" | "format" | "salt"> => {
  if (format === 1) return { event: plain };
  return { event: changes === undefined ? plain : { ...plain, changes }, format, ...(format < 3 ? {} : { salt: newSalt() }) };
};

const chain = (head: AuditLogDocument | null, events: readonly AuditEvent[], format: number, insertedAt: number): AuditLogDocument[] => {
  let previousHash = head?.hash ?? GENESIS;
  let sequence = head?.sequence ?? 0;
  return events.map((pending) => {
    sequence++;
    const formed = inForm(pending, format);
    const entry = { previousHash, hash: chainHash(previousHash, sequence, formed.event, format, formed), sequence };
    previousHash = entry.hash;
    return { _id: pending.id, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, ...formed, ...entry, insertedAt };
  });
};

/** Adds events to the end of the log, whoever else does, each once. */
export type AppendEvents = (events: readonly AuditEvent[]) => Promise<void>;

export interface AppendEventsOptions {
  readonly clock: Clock;
  readonly auditLog: AuditLogRepository;
  /** The newest form that all live nodes know; undefined when none is known. See `AUDIT_FORMAT`. */
  readonly knownFormat?: (() => Promise<number | undefined>) | undefined;
}

/** Event id and sequence number are unique in the log, so whoever comes second reads its head again. */
export const createAppendEvents =
  ({ clock, auditLog, knownFormat }: AppendEventsOptions): AppendEvents =>
  async (events) => {
    let rest = events;
    // A node that knows less may start at any moment: the form is asked for by each piece, which takes but a moment.
    const format = Math.min(AUDIT_FORMAT, (await knownFormat?.()) ?? AUDIT_FORMAT);
    while (rest.length > 0) {
      try {
        await auditLog.append(chain(await auditLog.head(), rest, format, clock.now()));
        return;
      } catch (error) {
        if (!(error instanceof DuplicateKeyError)) throw error;
        // Part of them is in the log already, from here or from an earlier, interrupted move.
        const known = await auditLog.findKnown(rest.map(({ id }) => id));
        rest = rest.filter(({ id }) => !known.has(id));
      }
    }
  };
