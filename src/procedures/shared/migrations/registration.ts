import { type AuditSource, auditEvent, resource } from "../../../audit/auditEvent.ts";
import type { AuditEvent } from "../../../storage/port/auditEvents.ts";
import type { OperationOptions } from "../../../storage/port/collection.ts";
import type { MigrationDocument } from "../../../storage/port/documents.ts";
import type { MigrationsRepository } from "../../../storage/repositories/migrationsRepository.ts";

/** Registering imports of keys and removing them; the command line and the procedures of `migrations` use the same functions. */

type Writing = OperationOptions & { readonly mark?: (events: readonly AuditEvent[]) => readonly AuditEvent[] };

/** Registers a migration, with its event `migration.create`. */
export const registerMigration = (
  migrations: MigrationsRepository,
  migration: { readonly id: string; readonly algorithm: MigrationDocument["algorithm"]; readonly name: string | undefined },
  source: AuditSource,
  call?: Writing,
): Promise<void> => {
  const { id, algorithm, name } = migration;
  const events = [auditEvent(source, "migration.create", `Created migration ${id}`, resource("migration", id, name))];
  const named = name === undefined ? { id, algorithm } : { id, algorithm, name };
  return migrations.insert(named, source.now, call?.mark?.(events) ?? events, call);
};

/**
 * Removes a migration, with its event `migration.delete`: keys that were waiting for it no longer verify (management §8).
 * False when it is gone already.
 */
export const removeMigration = (
  migrations: MigrationsRepository,
  { _id, name }: MigrationDocument,
  source: AuditSource,
  call?: Writing,
): Promise<boolean> => {
  const events = [auditEvent(source, "migration.delete", `Deleted migration ${_id}`, resource("migration", _id, name))];
  return migrations.delete(_id, source.now, call?.mark?.(events) ?? events, call);
};
