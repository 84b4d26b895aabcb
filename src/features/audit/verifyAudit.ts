import type { AuditStub } from "../../platform/storage/port/auditEvents.ts";
import { type AuditFault, BEFORE_ALL, faultsOf, type Place } from "./auditFaults.ts";
import type { AuditLogRepository } from "./auditLogRepository.ts";
import { breakOfStub, judgeBeginning } from "./auditStub.ts";
import { createErasedCount, type ErasedCount, isUnhashed } from "./erasedCount.ts";
import { readChain } from "./readAudit.ts";

/** More pending events than this are counted as "at least". */
const PENDING_AT_MOST = 10_000;

/** What a walk over the whole log has found. */
export interface AuditVerdict {
  readonly entries: number;
  /** Hash of the newest entry: kept elsewhere, it shows when the end of the log was cut off. */
  readonly head: string;
  /** Whether some entry has the hash that was asked for; undefined when none was. */
  readonly anchored: boolean | undefined;
  readonly faults: readonly AuditFault[];
  readonly erased: ErasedCount;
  /**
   * The last entry up to the one with the head that was asked for whose place only a later event states: the head covers what comes after
   * it. Undefined: it covers all up to its own entry.
   */
  readonly uncovered: { readonly sequence: number; readonly statedBy: number } | undefined;
  /** Events that wait in the outbox of what they tell of. */
  readonly pending: number;
  /** What is left of the entries that were dropped; undefined when none was. */
  readonly dropped: AuditStub | undefined;
}

export interface VerifyOptions {
  /** A hash that was the head once: an entry has it as long as the log was neither cut off before nor rewritten. */
  readonly anchor?: string | undefined;
  /** Hears of each entry that was looked at, by its number. */
  readonly onEntry?: (sequence: number) => void;
}

/** Walks the chain from its beginning, or from what was dropped, and names every entry that is not as it was written. */
export const verifyAudit = async (auditLog: AuditLogRepository, { anchor, onEntry }: VerifyOptions = {}): Promise<AuditVerdict> => {
  const faults: AuditFault[] = [];
  let entries = 0;
  const erased = createErasedCount();
  const { stub, broken } = await judgeBeginning(auditLog, (read) => breakOfStub(auditLog, read));
  /** Those without a hash that a head may not cover: each was stated before the one in front of it here. */
  let loose: { readonly sequence: number; readonly statedBy: number }[] = [];
  let uncovered: AuditVerdict["uncovered"];
  let place: Place = stub ?? BEFORE_ALL;
  let anchored = anchor === place.hash;
  if (stub !== null && broken !== undefined) {
    const problem = "is the last that was dropped, but no event of the log says so: entries are missing";
    faults.push({ sequence: stub.sequence, eventId: stub.statement, problem, broken });
  }
  for await (const { entry, before, stated } of readChain(auditLog, place)) {
    faults.push(...faultsOf(entry, before, stated?.seal));
    entries++;
    erased.add(entry);
    if (isUnhashed(entry)) {
      const statedBy = stated?.by ?? Number.POSITIVE_INFINITY;
      if (!anchored) loose = [...loose.filter((other) => other.statedBy > statedBy), { sequence: entry.sequence, statedBy }];
    }
    place = entry;
    if (!anchored && entry.hash === anchor) {
      anchored = true;
      uncovered = loose.findLast(({ statedBy }) => statedBy > entry.sequence);
    }
    onEntry?.(entry.sequence);
  }
  let pending = 0;
  for (const collection of await auditLog.listPending()) {
    for (const { outbox = [] } of await auditLog.findPending(collection, PENDING_AT_MOST)) pending += outbox.length;
  }
  const dropped = stub ?? undefined;
  const found = anchor === undefined ? undefined : anchored;
  return { entries, head: place.hash, anchored: found, faults, erased: erased.count(), uncovered, pending, dropped };
};
