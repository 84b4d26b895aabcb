import type { DeleteMigrationRequestSchema, DeleteMigrationResponseSchema } from "../../../gen/latchkey/v2/migrations_pb.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { auditSource } from "../shared/auditSource.ts";
import type { Procedure } from "../shared/call.ts";
import { findMigration, type MigrationsDeps, migrationNotFound } from "../shared/migrations/findMigration.ts";
import { migrationDeleted } from "../shared/migrations/registration.ts";
import { remove } from "../shared/mutations.ts";

/** Removes an import; keys that were waiting for it no longer verify (management §8). */
export const deleteMigration =
  (deps: MigrationsDeps): Procedure<typeof DeleteMigrationRequestSchema, typeof DeleteMigrationResponseSchema> =>
  async ({ migrationId }, call) => {
    requirePermissions(call.caller, ["migration.delete_migration", "*"]);
    const found = await findMigration(deps, migrationId, call);
    const event = migrationDeleted(auditSource(call), migrationId, found.name);
    return remove(call, { collection: "migrations", found, event, gone: () => migrationNotFound(migrationId) }, (events) =>
      deps.migrations.delete(migrationId, call.receivedAt, events, call),
    );
  };
