import { setTimeout as sleep } from "node:timers/promises";
import type { Precondition, RevisedObject } from "../../../base/revisions.ts";
import { createKeyedMutex } from "../../keyedMutex.ts";
import { applyUpdate, type Fields } from "../../port/applyUpdate.ts";
import type { AuditEvent } from "../../port/auditEvents.ts";
import type { AuditedCollection } from "../../port/auditedCollections.ts";
import type { AuditedDocument } from "../../port/baseDocument.ts";
import type { Collection, Filter, OperationOptions, Update } from "../../port/collection.ts";
import type { Documents } from "../../port/documents.ts";
import { StoreUnavailableError } from "../../port/errors.ts";
import type { Store } from "../../port/store.ts";
import { notDeleted, withEvents } from "./audited.ts";
import { describeChanges, spentFields, withChanges } from "./describeChanges.ts";

/** Each failed attempt means that another node changed the document, or that its events had to be moved first. */
const ATTEMPTS = 100;

/** Events that may wait in a document before it is changed. One change adds up to 2000 of them, a megabyte. */
const MOST_PENDING = 500;
/** Bounds of one wait for the audit log: another node may be the one that moves events. */
const RELIEF_MS = { least: 50, most: 1000 };

/** A document whose changes are serialised by counting them; without `revision` none was counted yet. */
export type Revised = AuditedDocument & RevisedObject;

export interface Modification<D> {
  readonly update: Update<D>;
  readonly events: readonly AuditEvent[];
  /** Also has to hold when the change is written; otherwise it is decided again. */
  readonly guard?: Filter<D>;
  /** Nobody asked for it: whoever read the document before may still change it by the revision that was read. */
  readonly quiet?: true;
  /** The document as it is but for what events of this change tell of themselves (`changes`); left out: as it is. */
  readonly from?: D;
  /** What the event tells of the update, where that is not what is written: that something was added, say. */
  readonly told?: Update<D>;
}

export interface ModifyOptions extends OperationOptions {
  /** Asked before every attempt, with the events that wait in the document; rejects to end the change. */
  readonly ensureUnwritten?: ((outbox: readonly AuditEvent[]) => Promise<void>) | undefined;
  /** Has to hold for the document that is changed, or the change ends with its error. */
  readonly precondition?: Precondition | undefined;
}

/**
 * Changes a document: `decide` gets it as it is and says what to write, or throws; undefined = nothing. Concurrent
 * changes are serialised, on any number of nodes; `decide` may run more than once. Resolves to the document after the change
 * (what the change neither guards nor sets may differ from what `decide` saw), or to null when there is none (any more).
 */
export type Modify<D> = (
  id: string,
  decide: (document: D) => Modification<D> | undefined | Promise<Modification<D> | undefined>,
  options?: ModifyOptions,
) => Promise<D | null>;

/** Moves events into the audit log, see `AuditMover.run`. */
export type MoveEvents = () => Promise<void>;
const moveNothing: MoveEvents = () => Promise.resolve();

/** Has the events of a document moved, for so long that it is worth reading it again. */
const createRelief = (moveEvents: MoveEvents) => async (): Promise<void> => {
  const moved = moveEvents().catch(() => undefined);
  await Promise.all([sleep(RELIEF_MS.least), Promise.race([moved, sleep(RELIEF_MS.most)])]);
};

/** The document after an update of it. */
export const updated = <D>(document: D, update: Update<D>): D => applyUpdate(document as Fields, update as Fields, false) as D;

const changedTooOften = (): StoreUnavailableError => new StoreUnavailableError("the object changed too often to be updated");

/**
 * Adds events to a document and changes nothing else of it, once there is room for them. False when there is none (any
 * more). @param document as it was read before.
 */
export type RecordEvents<D> = (document: D, events: readonly AuditEvent[], options?: OperationOptions) => Promise<boolean>;

/** @param moveEvents asked for when the events of a document pile up: it would grow until the store refuses it. */
export const createRecordEvents = <D extends AuditedDocument>(
  collection: Collection<D>,
  moveEvents: MoveEvents = moveNothing,
): RecordEvents<D> => {
  const relieve = createRelief(moveEvents);
  // The compiler cannot see that the fields of AuditedDocument are fields of every D.
  const living = (id: string): Filter<D> => ({ _id: id, ...notDeleted }) as unknown as Filter<D>;
  return async (document, events, options) => {
    let pending = document.outbox?.length ?? 0;
    for (let attempt = 0; pending > MOST_PENDING; attempt++) {
      if (attempt === ATTEMPTS) throw changedTooOften();
      await relieve();
      const found = await collection.findOne(living(document._id), options);
      if (found === null) return false;
      pending = found.outbox?.length ?? 0;
    }
    const result = await collection.updateOne(living(document._id), withEvents<D>({}, events), options);
    return result.matchedCount === 1;
  };
};

/** Collections whose documents are changed so. */
type Modified = Exclude<AuditedCollection, "namespaces" | "migrations" | "sessions" | "failedSignIns">;

/**
 * One event of a change tells what it changed, see `describeChanges`.
 * @param moveEvents asked for when the events of a document pile up, which then waits; it would grow until the store
 * refuses it.
 */
export const createModify = <N extends Modified>(store: Store, name: N, moveEvents: MoveEvents = moveNothing): Modify<Documents[N]> => {
  type D = Documents[N];
  const collection = store.collection(name);
  const mutex = createKeyedMutex();
  const relieve = createRelief(moveEvents);
  /**
   * The events of a change, one of which tells what it changes.
   * Undefined `unsure`: it replaces nothing that may be spent meanwhile. Else what was spent is told as it was read, which has to
   * hold at the write (`asRead`); where it does not, the events of `unsure` are true: they do not tell what it was.
   */
  const tellChanges = async (
    document: D,
    { update, events, guard, from = document, told = update }: Modification<D>,
    options: OperationOptions,
  ): Promise<{ readonly events: readonly AuditEvent[]; readonly asRead: Fields; readonly unsure?: readonly AuditEvent[] }> => {
    const isDeletion = update.$set !== undefined && "deletedAt" in update.$set;
    if (isDeletion || events.every(({ changes }) => changes !== undefined)) return { events, asRead: {} };
    const description = await describeChanges(store, name, { before: from, update: told }, options);
    const telling = { events: withChanges(events, description.changes), asRead: {} };
    const spent = spentFields(name, update).filter((field) => guard === undefined || !(field in guard));
    if (spent.length === 0) return telling;
    const read: Fields = { ...document };
    const asRead = Object.fromEntries(spent.map((field) => [field, read[field] ?? { $exists: false }]));
    return { ...telling, asRead, unsure: withChanges(events, description.without(spent)) };
  };
  // The compiler cannot see that the fields of Revised are fields of every D.
  const filterOf = (fields: Filter<Revised>): Filter<D> => fields as unknown as Filter<D>;

  return (id, decide, options) =>
    mutex.run(id, async () => {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const document = await collection.findOne(filterOf({ _id: id, ...notDeleted }), options);
        if (document === null) return null;
        if ((document.outbox?.length ?? 0) > MOST_PENDING) {
          await relieve();
          continue;
        }
        if (options?.ensureUnwritten) await options.ensureUnwritten(document.outbox ?? []);
        options?.precondition?.ensure(document);
        const change = await decide(document);
        if (change === undefined) {
          await collection.vouch?.(document);
          return document;
        }
        const { signal, caller } = options ?? {};
        const { update, guard, quiet } = change;
        const { events, asRead, unsure } = await tellChanges(document, change, { signal, caller });
        // Where an earlier version moved the events, it left what they tell.
        const place = document.outbox === undefined || document.outbox.length === 0 ? "replace" : "append";
        const $inc = { ...update.$inc, revision: 1, ...(quiet ? { quietRevisions: 1 } : {}) };
        const counted = (told: readonly AuditEvent[]) => withEvents<D>({ ...update, $inc } as unknown as Update<D>, told, place);
        const unchanged = { ...filterOf({ _id: id, revision: document.revision ?? { $exists: false }, ...notDeleted }), ...guard };
        if (unsure === undefined) {
          const after = await collection.findOneAndUpdate(unchanged, counted(events), { signal, caller, returnDocument: "after" });
          if (after !== null) return after;
          continue;
        }
        // In one go, or whoever spends all the time would keep everybody from setting what is spent. Either counts the revision, so
        // that after the first the second finds nothing.
        const { matchedCount } = await collection.bulkWrite(
          [
            { updateOne: { filter: { ...unchanged, ...asRead }, update: counted(events) } },
            { updateOne: { filter: unchanged, update: counted(unsure) } },
          ],
          { signal, caller },
        );
        if (matchedCount > 0) return updated(document, counted(events));
      }
      throw changedTooOften();
    });
};

/** Which documents may be deleted, beside those that live. */
export interface Removable<D> {
  readonly filter: Filter<D>;
  /** What the filter says of a document that was read; left out where it always holds. */
  readonly holds?: (document: D) => boolean;
}

/**
 * Deletes a document by an update that marks it. Other than `Modify` it waits for nothing, so that a revocation is never late;
 * under a precondition it is a change like any other, or what is deleted could be another revision by then. False when there is none
 * that may be deleted (any more).
 */
export type Remove<D> = (
  id: string,
  update: Update<D>,
  events: readonly AuditEvent[],
  options?: ModifyOptions,
  removable?: Removable<D>,
) => Promise<boolean>;

export const createRemove =
  <D extends Revised>(collection: Collection<D>, modify: Modify<D>): Remove<D> =>
  async (id, update, events, options, removable) => {
    const guard = removable?.filter ?? {};
    if (options?.precondition === undefined) {
      // The compiler cannot see that the fields of Revised are fields of every D.
      const living = { _id: id, ...notDeleted, ...guard } as unknown as Filter<D>;
      return (await collection.updateOne(living, withEvents<D>(update, events), options)).matchedCount === 1;
    }
    let holds = true;
    const decide = (document: D): Modification<D> | undefined => {
      holds = removable?.holds?.(document) ?? true;
      return holds ? { update, events, guard } : undefined;
    };
    return (await modify(id, decide, options)) !== null && holds;
  };
