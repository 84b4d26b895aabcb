import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ListMigrationsRequestSchema,
  type ListMigrationsResponseSchema,
  type MigrationSchema,
} from "../../../../gen/latchkey/v2/migrations_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import type { MigrationDocument } from "../../../platform/storage/port/documents.ts";
import type { Procedure } from "../../calls/call.ts";
import { readOwnPageRequest, showOwnPagination } from "../../calls/paging.ts";
import { showAlgorithm } from "../algorithm.ts";
import type { MigrationsDeps } from "../findMigration.ts";

const LIST = "migrations.listMigrations";

const showMigration = ({ _id, algorithm, name, createdAt }: MigrationDocument): MessageInitShape<typeof MigrationSchema> => ({
  migrationId: _id,
  algorithm: showAlgorithm(algorithm),
  ...(name === undefined ? {} : { name }),
  createdAt: BigInt(createdAt),
});

/** Lists the registered imports, ascending by id, as the command line does (management §7). */
export const listMigrations =
  ({ migrations }: MigrationsDeps): Procedure<typeof ListMigrationsRequestSchema, typeof ListMigrationsResponseSchema> =>
  async (request, call) => {
    const asked = readOwnPageRequest(LIST, ListMigrationsRequestSchema, request);
    requirePermissions(call.caller, ["migration.read_migration", "*"]);
    const page = await migrations.listPage(asked, call);
    return { data: page.items.map(showMigration), pagination: showOwnPagination(LIST, asked, page) };
  };
