import { type AuditLogRepository, auditedCollections } from "../storage/auditLog.ts";
import type { AuditLogDocument } from "../storage/documents.ts";
import { chainHash, GENESIS } from "./chainHash.ts";

const PAGE = 500;
/** More pending events than this are counted as "at least". */
const PENDING_AT_MOST = 10_000;

/** What is wrong with one entry of the log. */
export interface AuditFault {
  readonly sequence: number;
  readonly eventId: string;
  readonly problem: string;
}

export interface AuditVerdict {
  readonly entries: number;
  /** Hash of the newest entry: kept elsewhere, it shows when the end of the log was cut off. */
  readonly head: string;
  readonly faults: readonly AuditFault[];
  /** Events that wait in the outbox of what they tell of. */
  readonly pending: number;
}

/** Every entry of the log, in order, without holding more than a page of it. */
export async function* readAudit(auditLog: AuditLogRepository): AsyncGenerator<AuditLogDocument> {
  for (let after = 0; ; ) {
    const page = await auditLog.listAfter(after, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.sequence;
  }
}

const faultsOf = (entry: AuditLogDocument, sequence: number, previousHash: string): string[] => {
  const { event } = entry;
  return [
    ...(entry.sequence === sequence ? [] : [`number ${entry.sequence} where ${sequence} was expected: entries are missing`]),
    ...(entry.previousHash === previousHash ? [] : ["does not follow on the entry before it"]),
    ...(entry._id === event.id ? [] : ["is filed under the id of another event"]),
    ...(entry.hash === chainHash(entry.previousHash, entry.sequence, event) ? [] : ["was altered: its hash is not that of its content"]),
  ];
};

/** Walks the chain from its beginning and names every entry that is not as it was written. */
export const verifyAudit = async (auditLog: AuditLogRepository): Promise<AuditVerdict> => {
  const faults: AuditFault[] = [];
  let entries = 0;
  let sequence = 0;
  let head = GENESIS;
  for await (const entry of readAudit(auditLog)) {
    const problems = faultsOf(entry, sequence + 1, head);
    faults.push(...problems.map((problem) => ({ sequence: entry.sequence, eventId: entry._id, problem })));
    entries++;
    sequence = entry.sequence;
    head = entry.hash;
  }
  let pending = 0;
  for (const collection of auditedCollections) {
    for (const { outbox = [] } of await auditLog.findPending(collection, PENDING_AT_MOST)) pending += outbox.length;
  }
  return { entries, head, faults, pending };
};
