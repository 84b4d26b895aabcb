import type { OperationOptions } from "./collection.ts";
import { type MigrationDocument, SCHEMA_VERSION, WORKSPACE_ID } from "./documents.ts";
import type { Store } from "./store.ts";

export interface MigrationsRepository {
  readonly find: (migrationId: string, options?: OperationOptions) => Promise<MigrationDocument | null>;
  /** Ascending by id. */
  readonly list: () => Promise<MigrationDocument[]>;
  readonly insert: (id: string, algorithm: MigrationDocument["algorithm"], now: number) => Promise<void>;
}

/** Migrations that an operator registered (keys §7). */
export const createMigrationsRepository = (store: Store): MigrationsRepository => {
  const migrations = store.collection("migrations");
  return {
    find: (migrationId, options) => migrations.findOne({ _id: migrationId }, options),
    list: () => migrations.find({}, { sort: { _id: 1 } }).toArray(),
    insert: async (id, algorithm, now) => {
      await migrations.insertOne({ _id: id, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, algorithm, createdAt: now });
    },
  };
};
