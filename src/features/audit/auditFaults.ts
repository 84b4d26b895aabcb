import type { AuditActor, AuditEvent, AuditResource } from "../../platform/storage/port/auditEvents.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import { AUDIT_FORMAT, chainHash, coversTexts, GENESIS, isKnownFormat, THIRD_FORM } from "./chainHash.ts";
import { ERASED_EVENT, hasTexts, sealOf } from "./erasedEntry.ts";

/** Where a chain is broken, and how. */
export interface ChainBreak {
  /** Of the entry that is altered, or of the first that is missing. */
  readonly sequence: number;
  /** What a whole chain has there: a hash, a number, an id. */
  readonly expected: string;
  readonly found: string;
}

/** What is wrong with one entry of the log. */
export interface AuditFault {
  readonly sequence: number;
  readonly eventId: string;
  readonly problem: string;
  readonly broken: ChainBreak;
}

type Fields<K extends string> = Readonly<Record<K, true>>;
const eventFields: Fields<Exclude<keyof AuditEvent, "changes">> = {
  ...{ id: true, event: true, time: true, actor: true, display: true },
  ...{ remoteIp: true, userAgent: true, resources: true, correlationId: true },
};
const changeFields: Fields<"changes"> = { changes: true };
const actorFields: Fields<keyof AuditActor> = { type: true, id: true, name: true };
const resourceFields: Fields<keyof AuditResource> = { type: true, id: true, name: true };

/** What the hash does not cover: an event has no such fields in this form. */
const strayFields = (event: AuditEvent, format: number): string[] => {
  const stray = (object: object, known: object): string[] => Object.keys(object).filter((name) => !Object.hasOwn(known, name));
  return [
    ...stray(event, format === 1 ? eventFields : { ...eventFields, ...changeFields }),
    ...stray(event.actor, actorFields),
    ...event.resources.flatMap((each) => stray(each, resourceFields)),
  ];
};

/** The place behind which an entry is expected. */
export interface Place {
  readonly sequence: number;
  readonly hash: string;
}

/** Behind which the first entry of all is expected. */
export const BEFORE_ALL: Place = { sequence: 0, hash: GENESIS };

const judgeEntry = (entry: AuditLogDocument, { sequence: before, hash: previousHash }: Place, stated: string | undefined): AuditFault[] => {
  const { event, sequence, format = 1 } = entry;
  const next = before + 1;
  const faults: AuditFault[] = [];
  const report = (problem: string, expected: string, found: string, at = sequence): void => {
    faults.push({ sequence, eventId: entry._id, problem, broken: { sequence: at, expected, found } });
  };
  if (sequence !== next) {
    // A number that is taken twice, or by what does not belong there, is wrong at the entry itself.
    const at = Math.min(sequence, next);
    report(`number ${sequence} where ${next} was expected: entries are missing`, `sequence ${next}`, `sequence ${sequence}`, at);
  }
  if (entry.previousHash !== previousHash) report("does not follow on the entry before it", previousHash, entry.previousHash);
  if (entry._id !== event.id) report("is filed under the id of another event", event.id, entry._id);
  if (!isKnownFormat(format)) {
    report("was altered, or written by a newer version: its form is not known", `a form up to ${AUDIT_FORMAT}`, `form ${format}`);
    return faults;
  }
  const { erasure, salt } = entry;
  if (erasure !== undefined) {
    if (hasTexts(event) || salt !== undefined) report("was altered: its texts were erased, and it has some", "no texts", "texts");
    const seal = sealOf(entry);
    if (stated !== seal) {
      report(`was altered: its texts are gone, and no event ${ERASED_EVENT} says so of what is left`, seal, stated ?? "nothing");
    }
  }
  if (!coversTexts(entry)) {
    const expected = erasure === undefined ? "a salt" : "the digest of its texts";
    report("was altered: its hash covers no texts", expected, "none, or one of another form");
  } else if (erasure === undefined || format === AUDIT_FORMAT) {
    const hash = chainHash(entry.previousHash, sequence, event, format, entry);
    if (entry.hash !== hash) report("was altered: its hash is not that of its content", hash, entry.hash);
  } else if (entry.hash.startsWith(THIRD_FORM)) {
    report("was altered: its hash is of another form", `form ${AUDIT_FORMAT}`, `form ${format}`);
  }
  const stray = strayFields(event, format);
  if (stray.length > 0) report("was altered: it has fields that no event has", "no other fields", stray.join(", "));
  return faults;
};

/**
 * What is wrong with an entry that is to follow on a place. Of one that was altered so much that it cannot be read that is said.
 * @param stated what the log states of it, if it was erased; see `FindSeal`
 */
export const faultsOf = (entry: AuditLogDocument, place: Place, stated?: string): AuditFault[] => {
  try {
    return judgeEntry(entry, place, stated);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const { sequence, _id } = entry;
    const broken = { sequence, expected: "an event", found: "what is no event" };
    return [{ sequence, eventId: _id, problem: "was altered: it is no event any more", broken }];
  }
};

/** Whether an entry is as it was written, and follows on the place before it; undefined = it is the first of all. */
export const isIntact = (
  entry: AuditLogDocument,
  place: Pick<AuditLogDocument, "sequence" | "hash"> = BEFORE_ALL,
  stated?: string,
): boolean => faultsOf(entry, place, stated).length === 0;
