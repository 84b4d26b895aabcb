import type { DeleteMigrationRequestSchema, DeleteMigrationResponseSchema } from "../../../../gen/latchkey/v2/migrations_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { remove } from "../../calls/mutations.ts";
import { findMigration, type MigrationsDeps, migrationNotFound } from "../findMigration.ts";
import { migrationDeleted } from "../registration.ts";

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
