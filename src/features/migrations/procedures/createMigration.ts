import type { CreateMigrationRequestSchema, CreateMigrationResponseSchema } from "../../../../gen/latchkey/v2/migrations_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { create } from "../../calls/mutations.ts";
import { readAlgorithm } from "../algorithm.ts";
import type { MigrationsDeps } from "../findMigration.ts";
import { migrationCreated } from "../registration.ts";

/** Registers an import of keys that another system issued (management §7). Names are labels. */
export const createMigration =
  ({ migrations }: MigrationsDeps): Procedure<typeof CreateMigrationRequestSchema, typeof CreateMigrationResponseSchema> =>
  async ({ algorithm, name }, call) => {
    requirePermissions(call.caller, ["migration.create_migration", "*"]);
    const migrationId = call.newId("mig");
    const migration = { id: migrationId, algorithm: readAlgorithm(algorithm), name };
    const events = [migrationCreated(auditSource(call), migrationId, name)];
    return create(call, { collection: "migrations", id: migrationId, events, answer: { data: { migrationId } } }, (marked) =>
      migrations.insert(migration, call.receivedAt, marked, call),
    );
  };
