import type { Clock } from "../../platform/base/clock.ts";
import type { AuditStub } from "../../platform/storage/port/auditEvents.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import type { AppendEvents } from "./appendEvents.ts";
import { auditEvent, resource, systemSource } from "./auditEvent.ts";
import { isIntact } from "./auditFaults.ts";
import { type AuditIndexRepository, blockWith } from "./auditIndexRepository.ts";
import type { AuditLogRepository } from "./auditLogRepository.ts";
import { DROPPED_EVENT, DROPPED_LOG } from "./auditStub.ts";
import { createFindSeal } from "./erasedEntry.ts";
import { readAudit } from "./readAudit.ts";

const DAY_MS = 86_400_000;
/** Each look that finds something is an event: an hour later than its day an entry may go. */
const LOOK_EVERY_MS = 3_600_000;
const PAGE = 500;
/** Entries that one event says were dropped; where there are more, the next round goes on. */
const MOST_AT_ONCE = 10_000;

export interface AuditRetentionOptions {
  /** The one by which entries are inserted. */
  readonly clock: Clock;
  readonly auditLog: AuditLogRepository;
  readonly auditIndex: AuditIndexRepository;
  /** Entries are kept for so long after they came into the log. */
  readonly days: number;
  /** Hears of an entry that is not as it was written, or does not follow on the one before it: from there on nothing is dropped. */
  readonly onBroken?: (sequence: number) => void;
}

/** The old entries at the beginning of the log: the last, if there is one, and whether there may be more. */
interface Old {
  readonly last: AuditLogDocument | undefined;
  readonly count: number;
  readonly more: boolean;
}
/** Since when an entry is there. No hash covers when it came, which somebody may have put back; when it happened is covered. */
const ageFrom = ({ insertedAt = 0, event }: AuditLogDocument): number => Math.max(insertedAt, event?.time ?? 0);

const nothingOld: Old = { last: undefined, count: 0, more: false };

/** One round, see `AuditMoverOptions.background`. */
export type AuditRetention = (goesOn: () => boolean, append: AppendEvents) => Promise<void>;

/**
 * Drops what is old from the beginning of the log (management §4). First an event says so in the log, with number and hash of the
 * last that goes; then the stub, from which on nobody sees the entries any more; then their rows go, with those of the index. A
 * round that was interrupted anywhere is gone on with by the next, of whichever node. The newest entry never goes: it says what went.
 */
export const createAuditRetention = ({ clock, auditLog, auditIndex, days, onBroken }: AuditRetentionOptions): AuditRetention => {
  let nextLook = Number.NEGATIVE_INFINITY;
  /** There may be rows of entries that were dropped: an earlier process may have left some. */
  let leftRows = true;

  const removeRows = async (stub: AuditStub, goesOn: () => boolean): Promise<void> => {
    while (goesOn()) {
      const oldest = await auditLog.listAfter(Number.MIN_SAFE_INTEGER, PAGE);
      const [first, ...others] = oldest.filter(({ sequence }) => sequence <= stub.sequence);
      if (first === undefined) {
        leftRows = false;
        return;
      }
      const block = blockWith(first.sequence);
      const entries = [first, ...others.filter(({ sequence }) => blockWith(sequence) === block)];
      const through = entries.at(-1)?.sequence ?? first.sequence;
      // The rows of the index first: they cannot be told without the entries.
      await auditIndex.remove(entries);
      await auditIndex.removeSpans(blockWith(through + 1));
      await auditLog.removeThrough(through);
    }
  };

  const findOld = async (stub: AuditStub | null, goesOn: () => boolean): Promise<Old> => {
    const before = clock.now() - days * DAY_MS;
    const findSeal = createFindSeal(auditLog);
    let last: AuditLogDocument | undefined;
    let count = 0;
    for await (const entry of readAudit(auditLog, stub?.sequence)) {
      if (count === MOST_AT_ONCE || (count % PAGE === 0 && !goesOn())) return { last, count, more: true };
      if (ageFrom(entry) >= before) break;
      if (!isIntact(entry, last ?? stub ?? undefined, (await findSeal(entry))?.seal)) {
        onBroken?.(entry.sequence);
        break;
      }
      last = entry;
      count++;
    }
    return { last, count, more: false };
  };

  return async (goesOn, append) => {
    const isTime = clock.monotonic() >= nextLook;
    if (!isTime && !leftRows) return;
    let stub = await auditLog.stub();
    const { last, count, more } = isTime ? await findOld(stub, goesOn) : nothingOld;
    if (last !== undefined) {
      const { sequence, hash } = last;
      const display = `Dropped ${count} entries of the audit log that were older than ${days} days, up to number ${sequence}`;
      const event = auditEvent(systemSource(clock), DROPPED_EVENT, display, resource(DROPPED_LOG, String(sequence), hash));
      await append([event]);
      stub = { sequence, hash, droppedAt: event.time, statement: event.id };
      await auditLog.setStub(stub);
      leftRows = true;
    }
    if (isTime && !more) nextLook = clock.monotonic() + LOOK_EVERY_MS;
    if (stub !== null) await removeRows(stub, goesOn);
  };
};
