import type { DeleteMigrationRequestSchema, DeleteMigrationResponseSchema } from "../../../gen/latchkey/v2/migrations_pb.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import { auditSource } from "../shared/auditSource.ts";
import type { Procedure } from "../shared/call.ts";
import { findMigration, type MigrationsDeps, migrationNotFound } from "../shared/migrations/findMigration.ts";
import { removeMigration } from "../shared/migrations/registration.ts";

/** Removes an import; keys that were waiting for it no longer verify (management §8). */
export const deleteMigration =
  (deps: MigrationsDeps): Procedure<typeof DeleteMigrationRequestSchema, typeof DeleteMigrationResponseSchema> =>
  async ({ migrationId }, call) => {
    requirePermissions(call.caller, ["migration.delete_migration", "*"]);
    const found = await findMigration(deps, migrationId, call);
    const answer = { data: {} };
    await call.begin({ collection: "migrations", id: migrationId }, answer);
    if (!(await removeMigration(deps.migrations, found, auditSource(call), call))) throw migrationNotFound(migrationId);
    return answer;
  };
