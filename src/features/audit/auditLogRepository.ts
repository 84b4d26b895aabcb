import type { AuditStub } from "../../platform/storage/port/auditEvents.ts";
import { type AuditedCollection, auditedCollections } from "../../platform/storage/port/auditedCollections.ts";
import { type AuditedDocument, SCHEMA_VERSION, WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { insertUnlessThere } from "../../platform/storage/repositories/shared/insertOrReuse.ts";

export interface AuditLogRepository {
  /** The newest entry, or null when the log is empty. */
  readonly head: (options?: OperationOptions) => Promise<AuditLogDocument | null>;
  /** Up to `limit` entries after the one of this number, in order. */
  readonly listAfter: (sequence: number, limit: number, options?: OperationOptions) => Promise<AuditLogDocument[]>;
  /** Those of these numbers that there are, in order. */
  readonly findBySequence: (sequences: readonly number[], options?: OperationOptions) => Promise<AuditLogDocument[]>;
  /** Those of the events that the log has. */
  readonly findKnown: (eventIds: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly findEntry: (eventId: string, options?: OperationOptions) => Promise<AuditLogDocument | null>;
  /** What is left of the entries that were dropped: all up to its number are gone for readers, whether their rows are or not. */
  readonly stub: (options?: OperationOptions) => Promise<AuditStub | null>;
  /** Never goes back: an earlier one than the one that is there changes nothing. */
  readonly setStub: (stub: AuditStub) => Promise<void>;
  /** Removes the rows of all entries up to this number. */
  readonly removeThrough: (sequence: number) => Promise<void>;
  /** In order, stopping at the first that is refused: `DuplicateKeyError` of `_id` (known event) or `sequence` (someone else extended the chain). */
  readonly append: (entries: readonly AuditLogDocument[]) => Promise<void>;
  /** Writes entries that are there as they are without their texts. */
  readonly writeErased: (entries: readonly AuditLogDocument[]) => Promise<void>;
  /** The collections in which a document has events that have not been moved yet. */
  readonly listPending: () => Promise<readonly AuditedCollection[]>;
  /** Up to `limit` documents with events that have not been moved yet, those that changed least recently first. */
  readonly findPending: (collection: AuditedCollection, limit: number) => Promise<AuditedDocument[]>;
  /** The marks of up to `limit` such documents, least first: each is the id of the last event of one. */
  readonly listPendingMarks: (collection: AuditedCollection, limit: number) => Promise<readonly string[]>;
  /** Takes the moved events out of the documents, and removes those that were erased, unless that has to wait for a sweep. */
  readonly settle: (collection: AuditedCollection, documents: readonly AuditedDocument[]) => Promise<void>;
}

const STUB = "auditStub";

/** One object for all documents: it crosses to the writer's thread once. */
const EMPTY_OUTBOX = { $unset: { outbox: "", outboxChanges: "", pendingMark: "" } } as const;

const isGone = ({ erased, sweepFrom }: AuditedDocument): boolean => erased === true && sweepFrom === undefined;

const byMark = ({ pendingMark: a = "" }: AuditedDocument, { pendingMark: b = "" }: AuditedDocument): number => (a < b ? -1 : 1);

export const createAuditLogRepository = (store: Store): AuditLogRepository => {
  const audit = store.collection("audit");
  const system = store.collection("system");
  /** Number of the newest entry that was seen. */
  let seen = 0;
  return {
    head: async (options) => {
      const newestOf = (range: { readonly sequence?: { readonly $gte: number } }) =>
        audit.findOne({ workspaceId: WORKSPACE_ID, ...range }, { ...options, sort: { sequence: -1 } });
      // FerretDB sorts all that a range has, without one the whole log. It grows at its end; nothing is left behind an entry that is gone.
      const newest = (seen === 0 ? null : await newestOf({ sequence: { $gte: seen } })) ?? (await newestOf({}));
      seen = newest?.sequence ?? 0;
      return newest;
    },
    listAfter: async (sequence, limit, options) => {
      const within = (range: { readonly $gt: number; readonly $lte?: number }) =>
        audit.find({ workspaceId: WORKSPACE_ID, sequence: range }, { ...options, sort: { sequence: 1 }, limit }).toArray();
      // FerretDB sorts all that a range has, here all of the log behind the number. Where there is a gap, and at the end, a range of the
      // page's length has too few.
      const isAtStart = sequence < 0 && (await within({ $gt: sequence, $lte: 0 })).length === 0;
      const from = isAtStart ? 0 : sequence;
      const near = await within({ $gt: from, $lte: from + limit });
      return near.length === limit ? near : within({ $gt: from });
    },
    findBySequence: async (sequences, options) =>
      sequences.length === 0
        ? []
        : audit.find({ workspaceId: WORKSPACE_ID, sequence: { $in: sequences } }, { ...options, sort: { sequence: 1 } }).toArray(),
    findKnown: async (eventIds) => new Set((await audit.findFields([], { _id: { $in: eventIds } })).map(({ _id }) => _id)),
    findEntry: (eventId, options) => audit.findOne({ _id: eventId }, options),
    stub: async (options) => (await system.findOne({ _id: STUB }, options))?.stub ?? null,
    setStub: async (stub) => {
      const facts = { stub, droppedThrough: stub.sequence, v: SCHEMA_VERSION };
      const raised = await system.updateOne({ _id: STUB, droppedThrough: { $lt: stub.sequence } }, { $set: facts });
      if (raised.matchedCount === 1) return;
      // Where there is one, it is not earlier.
      await insertUnlessThere(system, { _id: STUB, workspaceId: WORKSPACE_ID, ...facts });
    },
    removeThrough: async (sequence) => {
      await audit.deleteMany({ workspaceId: WORKSPACE_ID, sequence: { $lte: sequence } });
    },
    append: async (entries) => {
      await audit.insertMany(entries);
    },
    writeErased: async (entries) => {
      await audit.bulkWrite(
        entries.map(({ _id, hash, event, erasure }) => ({
          updateOne: { filter: { _id, hash }, update: { $set: { event, ...(erasure && { erasure }) }, $unset: { salt: "" } } },
        })),
      );
    },
    listPending: () => store.collectionsWith("pendingMark", auditedCollections),
    findPending: async (collection, limit) => {
      const documents = store.collection(collection as "apis");
      const pending = await documents.findFields([], { pendingMark: { $exists: true } }, { sort: { pendingMark: 1 }, limit });
      if (pending.length === 0) return [];
      // By their ids, an order that a store can break off and go on with: together their events may be a hundred megabytes.
      const found = await documents.find({ _id: { $in: pending.map(({ _id }) => _id) } }, { ofAnyVersion: true }).toArray();
      return found.sort(byMark);
    },
    listPendingMarks: async (collection, limit) => {
      const found = await store
        .collection(collection as "apis")
        .findFields(["pendingMark"], { pendingMark: { $exists: true } }, { sort: { pendingMark: 1 }, limit });
      return found.map(({ pendingMark = "" }) => pendingMark);
    },
    settle: async (collection, pending) => {
      const documents = store.collection(collection as "apis");
      const [gone, kept] = [pending.filter(isGone), pending.filter((document) => !isGone(document))];
      // The mark moves with every push: if it is the same, the outbox holds just what was read.
      const { matchedCount } = await documents.bulkWrite([
        ...gone.map(({ _id, pendingMark = "" }) => ({ deleteOne: { filter: { _id, pendingMark } } })),
        ...kept.map(({ _id, pendingMark = "" }) => ({ updateOne: { filter: { _id, pendingMark }, update: EMPTY_OUTBOX } })),
      ]);
      if (matchedCount === kept.length) return;
      await documents.bulkWrite(
        kept.map(({ _id, outbox = [] }) => {
          const moved = { id: { $in: outbox.map(({ id }) => id) } };
          return { updateOne: { filter: { _id }, update: { $pull: { outbox: moved, outboxChanges: moved } } } };
        }),
      );
    },
  };
};
