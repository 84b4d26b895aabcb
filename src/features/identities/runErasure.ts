import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../platform/base/clock.ts";
import type { AuditLogDocument, KeyDocument } from "../../platform/storage/port/documents.ts";
import { redactedText } from "../../platform/storage/repositories/shared/changeText.ts";
import type { Analytics } from "../analytics/createAnalytics.ts";
import type { AppendEvents } from "../audit/appendEvents.ts";
import { auditEvent, resource } from "../audit/auditEvent.ts";
import type { AuditLogRepository } from "../audit/auditLogRepository.ts";
import { eraseEntries } from "../audit/eraseEntries.ts";
import { auditSource } from "../calls/auditSource.ts";
import type { Call } from "../calls/call.ts";
import type { Erasure, ErasuresRepository } from "./erasuresRepository.ts";
import type { IdentitiesRepository } from "./identitiesRepository.ts";
import { namesPerson, resourcesOf } from "./personalEntries.ts";

/** Keys of one write. */
const KEYS = 100;
/** Entries of the audit log, or ids of kept answers, that are in memory at a time. */
const PAGE = 500;
/** So long after the keys were stripped, verifications that were under way on any node have reached analytics. */
const DELIVERED_MS = 3_000;
/** Changed objects whose events are waited for at a time. */
const MARKS = 1_000;
/** Between two looks whether events have reached the audit log, which another node may be moving, or whether a reader has ended. */
const SETTLE_MS = 100;

export interface RunErasureDeps {
  readonly erasures: ErasuresRepository;
  readonly identities: Pick<IdentitiesRepository, "findMany" | "findByExternalId">;
  readonly auditLog: AuditLogRepository;
  readonly appendEvents: AppendEvents;
  /** Moves events into the audit log, see `AuditMover.run`. */
  readonly moveEvents: () => Promise<void>;
  /** Undefined: this deployment has no analytics store. */
  readonly analytics: Pick<Analytics, "erasePerson"> | undefined;
  /** One that nobody turns. */
  readonly nodesClock: Pick<Clock, "now" | "monotonic">;
}

/**
 * Goes on with the erasure of a person (data §4): keys, audit log, kept answers, analytics, in this order, each where it was left. Whoever
 * dies in between leaves a note from which the next call goes on.
 * @param goesOn asked between two batches
 * @returns how far it has come; `done` = nothing is left
 */
export const runErasure = async (
  deps: RunErasureDeps,
  begun: Erasure,
  call: Call,
  goesOn: () => boolean,
): Promise<{ readonly erasure: Erasure; readonly done: boolean }> => {
  const { erasures, identities, auditLog, appendEvents, moveEvents, analytics, nodesClock } = deps;
  const beganAt = nodesClock.monotonic();
  const { signal, caller } = call;
  const options = { signal, caller };
  const source = auditSource(call);
  let erasure = begun;
  const save = async (changes: Partial<Erasure>): Promise<void> => {
    erasure = { ...erasure, ...changes };
    await erasures.save(erasure, options);
  };
  const eventsOfKey = ({ _id, name, meta }: KeyDocument) => {
    const event = auditEvent(source, "key.update", `Erased name and metadata of key ${_id}`, resource("key", _id));
    const fields = [...(name === undefined ? [] : ["name"]), ...(meta === undefined ? [] : ["meta"])];
    return [{ ...event, changes: fields.map(redactedText) }];
  };

  /** False: no time is left. */
  const stripKeys = async (ids: readonly string[]): Promise<boolean> => {
    for (const identityId of ids) {
      for (let found = KEYS; found === KEYS; ) {
        if (!goesOn()) return false;
        found = await erasures.stripKeys(identityId, KEYS, call.receivedAt, eventsOfKey, options);
        if (found > 0) await save({ keys: erasure.keys + found });
      }
    }
    return true;
  };

  /** Waits until all that was told of identities and keys up to now is in the log. False: no time is left. */
  const settle = async (): Promise<boolean> => {
    for (const collection of ["identities", "keys"] as const) {
      for (let marks = await auditLog.listPendingMarks(collection, MARKS); marks.length > 0; ) {
        if (!goesOn()) return false;
        await moveEvents();
        const known = await auditLog.findKnown(marks);
        if (marks.some((mark) => !known.has(mark))) await sleep(SETTLE_MS, undefined, { signal });
        else marks = marks.length < MARKS ? [] : await auditLog.listPendingMarks(collection, MARKS);
      }
    }
    return goesOn();
  };

  const namedThrough = (): number => erasure.namedThrough ?? 0;

  /** Identities of before that had the externalId, told by a page of the log; not the one that has it now. */
  const formerIdentities = async (page: readonly AuditLogDocument[]): Promise<readonly string[]> => {
    const before = page.filter(({ sequence }) => sequence <= namedThrough());
    const named = before.flatMap((entry) => resourcesOf(entry, "identity").filter(({ name }) => name === erasure.externalId));
    const unknown = [...new Set(named.map(({ id }) => id))].filter((id) => !erasure.identityIds.includes(id));
    if (unknown.length === 0) return [];
    const living = new Set((await identities.findMany(unknown, options)).map(({ _id }) => _id));
    return unknown.filter((id) => !living.has(id));
  };

  const eraseEntriesOf = async (page: readonly AuditLogDocument[]): Promise<number> => {
    const keyIds = [...new Set(page.flatMap((entry) => resourcesOf(entry, "key").map(({ id }) => id)))];
    const own = await erasures.findKeysOf(erasure.identityIds, keyIds, options);
    const { externalId, identityIds } = erasure;
    const person = { externalId, identityIds, keyIds: own, namedThrough: namedThrough() };
    const found = page.filter((entry) => namesPerson(entry, person));
    await eraseEntries({ auditLog, append: appendEvents }, found, source, resource("identity", erasure.identityIds[0] ?? erasure.id));
    return found.length;
  };

  /** Looks through the log up to its end. Undefined: no time is left; else whether identities were found that nobody knew of before. */
  const readLog = async (): Promise<"end" | "more identities" | undefined> => {
    while (goesOn()) {
      const page = await auditLog.listAfter(erasure.through, PAGE, options);
      const former = await formerIdentities(page);
      if (former.length > 0) {
        // What was told of their keys may stand before this place. In one write: who dies next must not go on from here.
        await save({ identityIds: [...erasure.identityIds, ...former], through: 0, entries: 0 });
        return "more identities";
      }
      const entries = erasure.entries + (await eraseEntriesOf(page));
      const last = page.at(-1);
      if (last !== undefined) await save({ entries, through: last.sequence });
      if (page.length < PAGE) return "end";
    }
    return undefined;
  };

  /** False: no time is left. */
  const forgetAnswers = async (): Promise<boolean> => {
    while (goesOn()) {
      const last = await erasures.forgetAnswers(erasure.externalId, erasure.answersThrough ?? "", PAGE, options);
      if (last === undefined) return true;
      await save({ answersThrough: last });
    }
    return false;
  };

  /** False: no time is left. One batch comes first, so that each call gets on. */
  const detachKeys = async (): Promise<boolean> => {
    while ((await erasures.detachKeys(erasure.identityIds, KEYS, options)) === KEYS) if (!goesOn()) return false;
    return true;
  };

  /** False: somebody reads what was there before, and no time is left. */
  const scrub = async (): Promise<boolean> => {
    while (!(await erasures.scrub())) {
      if (!goesOn()) return false;
      await sleep(SETTLE_MS, undefined, { signal });
    }
    return true;
  };

  for (;;) {
    if (!(await stripKeys(erasure.identityIds)) || !(await settle())) return { erasure, done: false };
    if (erasure.namedThrough === undefined) await save({ namedThrough: (await auditLog.head(options))?.sequence ?? 0 });
    const read = await readLog();
    if (read === undefined) return { erasure, done: false };
    if (read === "end") break;
  }
  if (!(await forgetAnswers())) return { erasure, done: false };
  if (analytics !== undefined) {
    await sleep(Math.max(0, beganAt + DELIVERED_MS - nodesClock.monotonic()), undefined, { signal });
    const living = await identities.findByExternalId(erasure.externalId, options);
    const events = await analytics.erasePerson(erasure.externalId, living?._id);
    await save({ events: erasure.events + events });
  }
  // A call that had read the identity before it was deleted may have given it a key since: what is told of that is still to be read.
  const known = erasure.keys;
  if (!(await stripKeys(erasure.identityIds)) || erasure.keys > known) return { erasure, done: false };
  if (!(await detachKeys())) return { erasure, done: false };
  await erasures.release(erasure.identityIds, call.receivedAt);
  if (!(await scrub())) return { erasure, done: false };
  await erasures.remove(erasure.id);
  // The note itself had the externalId. Should a reader have come in between, its page goes with the log's next turn.
  await scrub();
  return { erasure, done: true };
};
