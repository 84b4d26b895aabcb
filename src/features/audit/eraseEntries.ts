import type { AuditResource } from "../../platform/storage/port/auditEvents.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import { chunks } from "../../platform/util/chunks.ts";
import { counted } from "../../platform/util/counted.ts";
import type { AppendEvents } from "./appendEvents.ts";
import { type AuditSource, auditEvent } from "./auditEvent.ts";
import { faultsOf } from "./auditFaults.ts";
import type { AuditLogRepository } from "./auditLogRepository.ts";
import { DROPPED_EVENT } from "./auditStub.ts";
import { ERASED_EVENT, hasTexts, sealOf, sealsText, statedSeals, withoutTexts } from "./erasedEntry.ts";

/** Entries that one statement tells of: some 16 KiB. */
const PER_STATEMENT = 200;

/** What the log rests on: they name numbers and hashes, and nobody. */
const statements: readonly string[] = [ERASED_EVENT, DROPPED_EVENT];

/** Whether an entry still has texts that can be erased. */
const isErasable = ({ event, erasure }: AuditLogDocument): boolean =>
  erasure === undefined && !statements.includes(event.event) && hasTexts(event);

export interface EraseEntriesDeps {
  readonly auditLog: Pick<AuditLogRepository, "findEntry" | "writeErased">;
  readonly append: AppendEvents;
}

/**
 * Erases the texts of entries (data §4). First an event says so in the log, with a seal of what will be left of each; only then they
 * go. Whoever dies in between leaves entries that are as they were written. An entry that was altered before gets no seal, and goes on to
 * be found out.
 * @param subject what the event is about
 */
export const eraseEntries = async (
  { auditLog, append }: EraseEntriesDeps,
  entries: readonly AuditLogDocument[],
  source: AuditSource,
  subject: AuditResource,
): Promise<void> => {
  for (const some of chunks(entries.filter(isErasable), PER_STATEMENT)) {
    const display = `Erased the texts of ${counted(some.length, "entry", "entries")} of the audit log`;
    const plain = auditEvent(source, ERASED_EVENT, display, subject);
    const isSound = (entry: AuditLogDocument): boolean =>
      faultsOf(entry, { sequence: entry.sequence - 1, hash: entry.previousHash }).length === 0;
    const erased = some.map((entry) => withoutTexts(entry, plain.id));
    const sealed = erased.filter((_, i) => isSound(some[i] as AuditLogDocument));
    await append([{ ...plain, changes: [sealsText(sealed)] }]);
    const statement = await auditLog.findEntry(plain.id);
    const stated = statement === null ? undefined : statedSeals(statement);
    if (sealed.some((entry) => stated?.get(entry.sequence) !== sealOf(entry))) {
      throw new Error("the audit log did not keep what an erasure states: a node of an earlier version is running");
    }
    await auditLog.writeErased(erased);
  }
};
