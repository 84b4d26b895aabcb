import { ServiceError } from "../../platform/base/errors.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { MigrationDocument } from "../../platform/storage/port/documents.ts";
import type { MigrationsRepository } from "./migrationsRepository.ts";

export interface MigrationsDeps {
  readonly migrations: MigrationsRepository;
}

/** The same for a migration that was deleted and one that never existed. */
export const migrationNotFound = (migrationId: string): ServiceError =>
  new ServiceError("migration_not_found", `The migration ${migrationId} does not exist.`);

/** The live migration, or 404 `migration_not_found`. */
export const findMigration = async (
  { migrations }: MigrationsDeps,
  migrationId: string,
  options: OperationOptions,
): Promise<MigrationDocument> => {
  const migration = await migrations.find(migrationId, options);
  if (migration === null) throw migrationNotFound(migrationId);
  return migration;
};
