import { setImmediate as nextTurn } from "node:timers/promises";
import type { AuditActor, AuditEvent, AuditResource } from "../storage/auditEvents.ts";
import { type AuditLogRepository, auditedCollections } from "../storage/auditLog.ts";
import type { OperationOptions } from "../storage/collection.ts";
import type { AuditLogDocument } from "../storage/documents.ts";
import { chainHash, GENESIS } from "./chainHash.ts";

const PAGE = 500;
/** Checked in one turn of the event loop: some 10 µs each, with a user agent as long as headers may be 50. */
const ENTRIES_PER_TURN = 64;
/** More pending events than this are counted as "at least". */
const PENDING_AT_MOST = 10_000;

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

/** Before the first entry: whoever puts one into the log may number it as they like. */
const BEGINNING = Number.MIN_SAFE_INTEGER;

/** Every entry of the log behind a number, all if none is given, in order, without holding more than a page of it. */
export async function* readAudit(
  auditLog: AuditLogRepository,
  from: number = BEGINNING,
  options: OperationOptions = {},
): AsyncGenerator<AuditLogDocument> {
  for (let after = from; ; ) {
    const page = await auditLog.listAfter(after, PAGE, options);
    for (const [i, entry] of page.entries()) {
      if (i % ENTRIES_PER_TURN === ENTRIES_PER_TURN - 1) await nextTurn();
      yield entry;
    }
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
const strayFields = (event: AuditEvent): string[] => {
  const stray = (object: object, known: object): string[] => Object.keys(object).filter((name) => !Object.hasOwn(known, name));
  return [
    ...stray(event, eventFields),
    ...stray(event.actor, actorFields),
    ...event.resources.flatMap((each) => stray(each, resourceFields)),
  ];
};

/** The place behind which an entry is expected. */
interface Place {
  readonly sequence: number;
  readonly hash: string;
}

const judgeEntry = (entry: AuditLogDocument, { sequence: before, hash: previousHash }: Place): AuditFault[] => {
  const { event, sequence } = entry;
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
  const hash = chainHash(entry.previousHash, sequence, event);
  if (entry.hash !== hash) report("was altered: its hash is not that of its content", hash, entry.hash);
  const stray = strayFields(event);
  if (stray.length > 0) report("was altered: it has fields that no event has", "no other fields", stray.join(", "));
  return faults;
};

/** Of an entry that was altered so much that it cannot be read that is said. */
const faultsOf = (entry: AuditLogDocument, place: Place): AuditFault[] => {
  try {
    return judgeEntry(entry, place);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const { sequence, _id } = entry;
    const broken = { sequence, expected: "an event", found: "what is no event" };
    return [{ sequence, eventId: _id, problem: "was altered: it is no event any more", broken }];
  }
};

export interface VerifyOptions {
  /** A hash that was the head once: an entry has it as long as the log was neither cut off before nor rewritten. */
  readonly anchor?: string | undefined;
  /** Hears of each entry that was looked at, by its number. */
  readonly onEntry?: (sequence: number) => void;
}

/** Walks the chain from its beginning and names every entry that is not as it was written. */
export const verifyAudit = async (auditLog: AuditLogRepository, { anchor, onEntry }: VerifyOptions = {}): Promise<AuditVerdict> => {
  const faults: AuditFault[] = [];
  let entries = 0;
  let place: Place = { sequence: 0, hash: GENESIS };
  let anchored = anchor === GENESIS;
  for await (const entry of readAudit(auditLog)) {
    faults.push(...faultsOf(entry, place));
    entries++;
    place = entry;
    anchored ||= entry.hash === anchor;
    onEntry?.(entry.sequence);
  }
  let pending = 0;
  for (const collection of auditedCollections) {
    for (const { outbox = [] } of await auditLog.findPending(collection, PENDING_AT_MOST)) pending += outbox.length;
  }
  return { entries, head: place.hash, anchored: anchor === undefined ? undefined : anchored, faults, pending };
};

export interface ChainCheck {
  readonly checked: number;
  /** Number of the last entry that was checked; of the one before the first when there was none. */
  readonly to: number;
  readonly head: Place;
  /** The first break. */
  readonly broken: ChainBreak | undefined;
}

/** What the first entry has to follow on; a break where the entry before it is gone. */
const placeBefore = async (
  auditLog: AuditLogRepository,
  from: number,
  options: OperationOptions,
): Promise<{ readonly before: Place | undefined; readonly gone?: ChainBreak }> => {
  if (from === 1) return { before: { sequence: 0, hash: GENESIS } };
  const [before] = await auditLog.findBySequence([from - 1], options);
  if (before !== undefined) return { before };
  return { before, gone: { sequence: from - 1, expected: `sequence ${from - 1}`, found: "nothing" } };
};

/**
 * Checks up to `limit` entries of the chain from this number on, each together with how it follows on the one before.
 * @param from at least 1; undefined = from the oldest entry, whatever its number.
 */
export const checkChain = async (
  auditLog: AuditLogRepository,
  { from, limit }: { readonly from: number | undefined; readonly limit: number },
  { signal, caller }: OperationOptions = {},
): Promise<ChainCheck> => {
  const options = { signal, caller };
  const first = from ?? 1;
  const { before, gone } = await placeBefore(auditLog, first, options);
  let place = before;
  let broken: ChainBreak | undefined;
  let checked = 0;
  for await (const entry of readAudit(auditLog, from === undefined ? BEGINNING : first - 1, options)) {
    // Behind the end of the chain there is nothing to be gone.
    if (place === undefined) broken = gone;
    place ??= { sequence: first - 1, hash: entry.previousHash };
    broken ??= faultsOf(entry, place)[0]?.broken;
    place = entry;
    checked++;
    if (checked === limit) break;
  }
  const head = (await auditLog.head(options)) ?? { sequence: 0, hash: GENESIS };
  return { checked, to: checked === 0 ? first - 1 : (place?.sequence ?? 0), head, broken };
};
