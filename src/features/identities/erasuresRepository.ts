import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { KeyDocument } from "../../platform/storage/port/documents.ts";
import type { ErasureState } from "../../platform/storage/port/internalDocuments.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { withEvents } from "../../platform/storage/repositories/shared/audited.ts";
import { chunks } from "../../platform/util/chunks.ts";

/** The erasure of a person that has begun and did not end yet. */
export interface Erasure extends ErasureState {
  /** Of its note in the store. */
  readonly id: string;
}

/** What an erasure does to the store (data §4). Everything here may be done twice, and by several nodes at once. */
export interface ErasuresRepository {
  /** Those that did not end yet. */
  readonly list: (options?: OperationOptions) => Promise<readonly Erasure[]>;
  /** Makes its note; one that is there stays as it is. */
  readonly begin: (erasure: Erasure, options?: OperationOptions) => Promise<void>;
  /** Notes how far it has come; nothing if another call has ended it. */
  readonly save: (erasure: Erasure, options?: OperationOptions) => Promise<void>;
  /**
   * Takes names and metadata from up to `limit` keys of an identity, deleted ones included. They leave the identity; that they were its is
   * seen by `findKeysOf` until `detachKeys`.
   * @param eventsOf told with a key that had something to take
   */
  readonly stripKeys: (
    identityId: string,
    limit: number,
    now: number,
    eventsOf: (key: KeyDocument) => readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<number>;
  /** Those of the keys that are one of the identities', or were stripped as such. */
  readonly findKeysOf: (
    identityIds: readonly string[],
    keyIds: readonly string[],
    options?: OperationOptions,
  ) => Promise<ReadonlySet<string>>;
  /** Forgets, of up to `limit` answers behind `after`, those that tell the externalId; the id of the last one, undefined at the end. */
  readonly forgetAnswers: (externalId: string, after: string, limit: number, options?: OperationOptions) => Promise<string | undefined>;
  /** Forgets of up to `limit` stripped keys whose they were; how many there were. */
  readonly detachKeys: (identityIds: readonly string[], limit: number, options?: OperationOptions) => Promise<number>;
  /** Leaves its identities to the sweep. */
  readonly release: (identityIds: readonly string[], now: number) => Promise<void>;
  /** What was deleted is gone from the store's files as well; false while somebody reads what was there before. */
  readonly scrub: () => Promise<boolean>;
  /** Forgets the erasure. */
  readonly remove: (id: string) => Promise<void>;
}

/** Kept answers that are in memory at a time: one may have megabytes. */
const ANSWERS = 16;
const PREFIX = "erasure:";
/** Whatever has the prefix comes before. */
const BEHIND = "erasure;";

/** What stands in a stripped key in the place of the identity's id: the same index finds it, and no identity has it. */
const stripped = (identityId: string): string => `erased:${identityId}`;

/** @param store announces what it writes: nodes remember keys */
export const createErasuresRepository = (store: Store): ErasuresRepository => {
  const system = store.collection("system");
  const keys = store.collection("keys");
  const identities = store.collection("identities");
  const answers = store.collection("idempotency");

  return {
    list: async (options) => {
      const found = await system.find({ _id: { $gte: PREFIX, $lt: BEHIND } }, { ...options, sort: { _id: 1 } }).toArray();
      return found.flatMap(({ _id, erasure }) => (erasure === undefined ? [] : { ...erasure, id: _id.slice(PREFIX.length) }));
    },
    begin: async ({ id, ...erasure }, options) => {
      const note = { erasure, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID };
      await system.updateOne({ _id: PREFIX + id }, { $setOnInsert: note }, { ...options, upsert: true });
    },
    save: async ({ id, ...erasure }, options) => {
      await system.updateOne({ _id: PREFIX + id }, { $set: { erasure, v: SCHEMA_VERSION } }, options);
    },
    stripKeys: async (identityId, limit, now, eventsOf, options) => {
      const found = await keys.find({ workspaceId: WORKSPACE_ID, identityId }, { ...options, limit }).toArray();
      if (found.length === 0) return 0;
      await keys.bulkWrite(
        found.map((key) => {
          const events = key.name === undefined && key.meta === undefined ? [] : eventsOf(key);
          const update = withEvents<KeyDocument>(
            {
              $set: { identityId: stripped(identityId), ...(events.length > 0 && { updatedAt: now }) },
              $unset: { name: "", nameKey: "", meta: "" },
              $inc: { revision: 1 },
            },
            events,
          );
          // Whoever has given it to somebody else meanwhile has made it that one's.
          return { updateOne: { filter: { _id: key._id, identityId }, update } };
        }),
        options,
      );
      return found.length;
    },
    findKeysOf: async (ids, keyIds, options) => {
      const of = new Set([...ids, ...ids.map(stripped)]);
      const found = await keys.findFields(["identityId"], { _id: { $in: keyIds } }, options);
      return new Set(found.flatMap(({ _id, identityId = "" }) => (of.has(identityId) ? _id : [])));
    },
    forgetAnswers: async (externalId, after, limit, options) => {
      // As a member: the externalId alone may be the name of another one, which every answer has.
      const member = `"externalId":${JSON.stringify(externalId)}`;
      const found = await answers.findFields([], after === "" ? {} : { _id: { $gt: after } }, { ...options, sort: { _id: 1 }, limit });
      for (const some of chunks(found, ANSWERS)) {
        const read = await answers.find({ _id: { $in: some.map(({ _id }) => _id) } }, options).toArray();
        const telling = read.flatMap(({ _id, answer }) => (answer?.includes(member) ? _id : []));
        if (telling.length > 0) await answers.deleteMany({ _id: { $in: telling } }, options);
      }
      return found.length < limit ? undefined : found.at(-1)?._id;
    },
    detachKeys: async (ids, limit, options) => {
      const marks = ids.map(stripped);
      const found = await keys.findFields([], { workspaceId: WORKSPACE_ID, identityId: { $in: marks } }, { ...options, limit });
      if (found.length > 0) {
        const update = { $unset: { identityId: "" as const }, $inc: { revision: 1, quietRevisions: 1 }, $max: { v: SCHEMA_VERSION } };
        await keys.bulkWrite(
          found.map(({ _id }) => ({ updateOne: { filter: { _id, identityId: { $in: marks } }, update } })),
          options,
        );
      }
      return found.length;
    },
    release: async (ids, now) => {
      for (const _id of ids) {
        const ended = { $set: { erased: true, sweepFrom: now }, $unset: { externalId: "", meta: "" } } as const;
        await identities.updateOne({ _id, deletedAt: { $exists: true } }, ended);
      }
    },
    scrub: async () => (await store.scrub?.()) ?? true,
    remove: async (id) => {
      await system.deleteOne({ _id: PREFIX + id });
    },
  };
};
