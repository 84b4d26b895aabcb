import { setImmediate as nextTurn } from "node:timers/promises";
import type { AuditActor, AuditEvent, AuditResource, AuditStub } from "../storage/port/auditEvents.ts";
import { auditedCollections } from "../storage/port/auditedCollections.ts";
import type { OperationOptions } from "../storage/port/collection.ts";
import type { AuditLogDocument } from "../storage/port/documents.ts";
import type { AuditLogRepository } from "../storage/repositories/auditLogRepository.ts";
import { unconfirmed } from "./auditStub.ts";
import { AUDIT_FORMAT, chainHash, GENESIS, isKnownFormat } from "./chainHash.ts";

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
  /** What is left of the entries that were dropped; undefined when none was. */
  readonly dropped: AuditStub | undefined;
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
interface Place {
  readonly sequence: number;
  readonly hash: string;
}

const BEFORE_ALL: Place = { sequence: 0, hash: GENESIS };

const judgeEntry = (entry: AuditLogDocument, { sequence: before, hash: previousHash }: Place): AuditFault[] => {
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
  const hash = chainHash(entry.previousHash, sequence, event, format);
  if (entry.hash !== hash) report("was altered: its hash is not that of its content", hash, entry.hash);
  const stray = strayFields(event, format);
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

/** Whether an entry is as it was written, and follows on the place before it; undefined = it is the first of all. */
export const isIntact = (entry: AuditLogDocument, place: Pick<AuditLogDocument, "sequence" | "hash"> = BEFORE_ALL): boolean =>
  faultsOf(entry, place).length === 0;

export interface VerifyOptions {
  /** A hash that was the head once: an entry has it as long as the log was neither cut off before nor rewritten. */
  readonly anchor?: string | undefined;
  /** Hears of each entry that was looked at, by its number. */
  readonly onEntry?: (sequence: number) => void;
}

/** Entries behind a place, each with the one that it has to follow on. What is dropped while they are read is passed over. */
async function* readChain(auditLog: AuditLogRepository, start: Place, options: OperationOptions = {}) {
  let before = start;
  for await (const entry of readAudit(auditLog, start === BEFORE_ALL ? BEGINNING : start.sequence, options)) {
    if (entry.sequence > before.sequence + 1) {
      const stub = await auditLog.stub(options);
      if (stub !== null && stub.sequence > before.sequence) {
        if (entry.sequence <= stub.sequence) continue;
        before = stub;
      }
    }
    yield { entry, before };
    before = entry;
  }
}

/**
 * What is said of the chain's beginning, by the stub as it is. Retention may go on between two reads, and then takes along what the stub
 * that was read rests on: where something is wrong and the stub is another by now, it is judged anew.
 */
const judgeBeginning = async <R extends { readonly broken?: ChainBreak | undefined }>(
  auditLog: AuditLogRepository,
  judge: (stub: AuditStub | null) => Promise<R>,
  options: OperationOptions = {},
): Promise<R & { readonly stub: AuditStub | null }> => {
  for (let stub = await auditLog.stub(options); ; ) {
    const judged = await judge(stub);
    if (judged.broken === undefined) return { ...judged, stub };
    const now = await auditLog.stub(options);
    if (now?.sequence === stub?.sequence) return { ...judged, stub };
    stub = now;
  }
};

/** What is wrong with a stub; nothing with none. */
const breakOf = async (
  auditLog: AuditLogRepository,
  stub: AuditStub | null,
  options: OperationOptions = {},
): Promise<{ readonly broken: ChainBreak | undefined }> => {
  const doubt = stub === null ? undefined : await unconfirmed(auditLog, stub, options);
  return { broken: stub === null || doubt === undefined ? undefined : { sequence: stub.sequence, ...doubt } };
};

/** Walks the chain from its beginning, or from what was dropped, and names every entry that is not as it was written. */
export const verifyAudit = async (auditLog: AuditLogRepository, { anchor, onEntry }: VerifyOptions = {}): Promise<AuditVerdict> => {
  const faults: AuditFault[] = [];
  let entries = 0;
  const { stub, broken } = await judgeBeginning(auditLog, (read) => breakOf(auditLog, read));
  let place: Place = stub ?? BEFORE_ALL;
  let anchored = anchor === place.hash;
  if (stub !== null && broken !== undefined) {
    const problem = "is the last that was dropped, but no event of the log says so: entries are missing";
    faults.push({ sequence: stub.sequence, eventId: stub.statement, problem, broken });
  }
  for await (const { entry, before } of readChain(auditLog, place)) {
    faults.push(...faultsOf(entry, before));
    entries++;
    place = entry;
    anchored ||= entry.hash === anchor;
    onEntry?.(entry.sequence);
  }
  let pending = 0;
  for (const collection of auditedCollections) {
    for (const { outbox = [] } of await auditLog.findPending(collection, PENDING_AT_MOST)) pending += outbox.length;
  }
  const dropped = stub ?? undefined;
  return { entries, head: place.hash, anchored: anchor === undefined ? undefined : anchored, faults, pending, dropped };
};

export interface ChainCheck {
  readonly checked: number;
  /** Number of the first entry that was to be checked. */
  readonly from: number;
  /** Number of the last entry that was checked; of the one before the first when there was none. */
  readonly to: number;
  readonly head: Place;
  /** The first break. */
  readonly broken: ChainBreak | undefined;
  /** What is left of the entries that were dropped; undefined when none was. */
  readonly dropped: AuditStub | undefined;
}

/** What the first entry has to follow on; a break where that cannot be known, or is not what it should be. */
const placeBefore = async (
  auditLog: AuditLogRepository,
  from: number,
  stub: AuditStub | null,
  options: OperationOptions,
): Promise<{ readonly before: Place; readonly isGone?: true; readonly broken?: ChainBreak | undefined }> => {
  if (stub !== null && from === stub.sequence + 1) return { before: stub, ...(await breakOf(auditLog, stub, options)) };
  if (from === 1) return { before: BEFORE_ALL };
  const sequence = from - 1;
  const [before] = await auditLog.findBySequence([sequence], options);
  if (before !== undefined) return { before };
  return { before: { sequence, hash: "" }, isGone: true, broken: { sequence, expected: `sequence ${sequence}`, found: "nothing" } };
};

/**
 * Checks up to `limit` entries of the chain from this number on, each together with how it follows on the one before.
 * @param from at least 1; undefined, or of an entry that was dropped = from the oldest one.
 */
export const checkChain = async (
  auditLog: AuditLogRepository,
  { from, limit }: { readonly from: number | undefined; readonly limit: number },
  { signal, caller }: OperationOptions = {},
): Promise<ChainCheck> => {
  const options = { signal, caller };
  const firstBehind = (stub: AuditStub | null): number => Math.max(from ?? 1, (stub?.sequence ?? 0) + 1);
  const judge = (stub: AuditStub | null) => placeBefore(auditLog, firstBehind(stub), stub, options);
  const { stub, ...place } = await judgeBeginning(auditLog, judge, options);
  const first = firstBehind(stub);
  // Entries before the first number are found from there only.
  const start = place.before === BEFORE_ALL && from !== undefined ? { ...BEFORE_ALL } : place.before;
  let broken = place.isGone === true ? undefined : place.broken;
  let checked = 0;
  let to = first - 1;
  for await (const { entry, before } of readChain(auditLog, start, options)) {
    // Behind the end of the chain there is nothing to be gone.
    if (checked === 0 && place.isGone === true) broken = place.broken;
    const follows = checked === 0 && place.isGone === true ? { ...before, hash: entry.previousHash } : before;
    broken ??= faultsOf(entry, follows)[0]?.broken;
    to = entry.sequence;
    checked++;
    if (checked === limit) break;
  }
  const head = (await auditLog.head(options)) ?? BEFORE_ALL;
  return { checked, from: first, to, head, broken, dropped: stub ?? undefined };
};
