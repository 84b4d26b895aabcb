import { createId } from "../domain/ids.ts";
import type { MigrationDocument } from "../storage/documents.ts";
import { createMigrationsRepository } from "../storage/migrations.ts";
import { readArguments } from "./arguments.ts";
import { type Command, UsageError } from "./command.ts";
import { withAnnouncingStore } from "./configuredStore.ts";
import { formatTable } from "./table.ts";

const algorithms: readonly MigrationDocument["algorithm"][] = ["sha256", "github.com/seamapi/prefixed-api-key"];

const create: Command = {
  name: "migration create",
  usage: `--algorithm ${algorithms.join("|")}`,
  summary: "Register an import of keys that another system issued; prints its id for keys.migrateKeys.",
  run: (args, context) => {
    const { values } = readArguments(args, { algorithm: { type: "string" } });
    const algorithm = algorithms.find((each) => each === values.algorithm);
    if (algorithm === undefined) throw new UsageError(`--algorithm: want one of ${algorithms.join(", ")}`);
    return withAnnouncingStore(
      context,
      async (store) => {
        const now = store.clock.now();
        const id = createId("mig", now);
        await createMigrationsRepository(store).insert(id, algorithm, now);
        await context.print(id);
      },
      "create",
    );
  },
};

const list: Command = {
  name: "migration list",
  usage: "",
  summary: "Show the registered migrations.",
  run: (args, context) => {
    readArguments(args, {});
    return withAnnouncingStore(context, async (store) => {
      const migrations = await createMigrationsRepository(store).list();
      const rows = migrations.map(({ _id, algorithm, createdAt }) => [_id, algorithm, new Date(createdAt).toISOString()]);
      for (const line of formatTable([["ID", "ALGORITHM", "CREATED"], ...rows])) await context.print(line);
    });
  },
};

/** Registering imports of keys (keys §7). */
export const migrationCommands: readonly Command[] = [create, list];
