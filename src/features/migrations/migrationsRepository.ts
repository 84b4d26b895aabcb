import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { MigrationDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { newDocument, notDeleted, withEvents } from "../../platform/storage/repositories/shared/audited.ts";
import { type Page, type PageRequest, readPage } from "../../platform/storage/repositories/shared/page.ts";

export interface MigrationsRepository {
  /** The migration unless it is deleted. */
  readonly find: (migrationId: string, options?: OperationOptions) => Promise<MigrationDocument | null>;
  /** All that are not deleted, ascending by id. */
  readonly list: () => Promise<MigrationDocument[]>;
  /** One page of them. */
  readonly listPage: (page: PageRequest, options: OperationOptions) => Promise<Page<MigrationDocument>>;
  readonly insert: (
    migration: Pick<MigrationDocument, "algorithm"> & { readonly id: string; readonly name?: string | undefined },
    now: number,
    events: readonly AuditEvent[],
    options?: OperationOptions,
  ) => Promise<void>;
  /** Deletes for good: keys that were waiting for it stay waiting. False when it does not exist or is deleted already. */
  readonly delete: (migrationId: string, now: number, events: readonly AuditEvent[], options?: OperationOptions) => Promise<boolean>;
}

/** Imports of keys that another system issued (keys §7). */
export const createMigrationsRepository = (store: Store): MigrationsRepository => {
  const migrations = store.collection("migrations");
  return {
    find: (migrationId, options) => migrations.findOne({ _id: migrationId, ...notDeleted }, options),
    list: () => migrations.find({ ...notDeleted }, { sort: { _id: 1 } }).toArray(),
    listPage: (page, options) => readPage(migrations, {}, page, options),
    insert: async ({ id, algorithm, name }, now, events, options) => {
      await migrations.insertOne({ ...newDocument(id, now, events), algorithm, ...(name === undefined ? {} : { name }) }, options);
    },
    delete: async (migrationId, now, events, options) => {
      const update = withEvents<MigrationDocument>({ $set: { deletedAt: now, erased: true } }, events);
      return (await migrations.updateOne({ _id: migrationId, ...notDeleted }, update, options)).matchedCount === 1;
    },
  };
};
