import { type AuditLogRepository, auditedCollections } from "../storage/auditLog.ts";
import type { AuditActor, AuditEvent, AuditLogDocument, AuditResource } from "../storage/documents.ts";
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
  /** Whether some entry has the hash that was asked for; undefined when none was. */
  readonly anchored: boolean | undefined;
  readonly faults: readonly AuditFault[];
  /** Events that wait in the outbox of what they tell of. */
  readonly pending: number;
}

/** Every entry of the log, in order, without holding more than a page of it. */
export async function* readAudit(auditLog: AuditLogRepository): AsyncGenerator<AuditLogDocument> {
  // Whoever puts an entry into the log may number it as they like.
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const page = await auditLog.listAfter(after, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.sequence;
  }
}

type Fields<K extends string> = Readonly<Record<K, true>>;
const eventFields: Fields<keyof AuditEvent> = {
  ...{ id: true, event: true, time: true, actor: true, display: true },
  ...{ remoteIp: true, userAgent: true, resources: true, correlationId: true },
};
const actorFields: Fields<keyof AuditActor> = { type: true, id: true, name: true };
const resourceFields: Fields<keyof AuditResource> = { type: true, id: true, name: true };

/** What the hash does not cover: an event has no such fields. */
const hasStrayFields = (event: AuditEvent): boolean => {
  const stray = (object: object, known: object): boolean => Object.keys(object).some((name) => !Object.hasOwn(known, name));
  return stray(event, eventFields) || stray(event.actor, actorFields) || event.resources.some((each) => stray(each, resourceFields));
};

const faultsOf = (entry: AuditLogDocument, sequence: number, previousHash: string): string[] => {
  const { event } = entry;
  return [
    ...(entry.sequence === sequence ? [] : [`number ${entry.sequence} where ${sequence} was expected: entries are missing`]),
    ...(entry.previousHash === previousHash ? [] : ["does not follow on the entry before it"]),
    ...(entry._id === event.id ? [] : ["is filed under the id of another event"]),
    ...(entry.hash === chainHash(entry.previousHash, entry.sequence, event) ? [] : ["was altered: its hash is not that of its content"]),
    ...(hasStrayFields(event) ? ["was altered: it has fields that no event has"] : []),
  ];
};

/**
 * Walks the chain from its beginning and names every entry that is not as it was written.
 * @param anchor a hash that was the head once: an entry has it as long as the log was neither cut off before nor rewritten.
 */
export const verifyAudit = async (auditLog: AuditLogRepository, anchor?: string): Promise<AuditVerdict> => {
  const faults: AuditFault[] = [];
  let entries = 0;
  let sequence = 0;
  let head = GENESIS;
  let anchored = anchor === GENESIS;
  for await (const entry of readAudit(auditLog)) {
    const problems = faultsOf(entry, sequence + 1, head);
    faults.push(...problems.map((problem) => ({ sequence: entry.sequence, eventId: entry._id, problem })));
    entries++;
    sequence = entry.sequence;
    head = entry.hash;
    anchored ||= entry.hash === anchor;
  }
  let pending = 0;
  for (const collection of auditedCollections) {
    for (const { outbox = [] } of await auditLog.findPending(collection, PENDING_AT_MOST)) pending += outbox.length;
  }
  return { entries, head, anchored: anchor === undefined ? undefined : anchored, faults, pending };
};
