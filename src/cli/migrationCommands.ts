import { systemSource } from "../audit/auditEvent.ts";
import { createId } from "../domain/ids.ts";
import { algorithms } from "../procedures/migrations/algorithm.ts";
import { registerMigration, removeMigration } from "../procedures/migrations/registration.ts";
import { createMigrationsRepository } from "../storage/migrations.ts";
import { readArguments } from "./arguments.ts";
import { checkName } from "./checkName.ts";
import { type Command, UsageError } from "./command.ts";
import { withAnnouncingStore } from "./configuredStore.ts";
import { formatTable } from "./table.ts";

const create: Command = {
  name: "migration create",
  usage: `--algorithm ${algorithms.join("|")} [--name NAME]`,
  summary: "Register an import of keys that another system issued; prints its id for keys.migrateKeys.",
  run: (args, context) => {
    const { values } = readArguments(args, { algorithm: { type: "string" }, name: { type: "string" } });
    const algorithm = algorithms.find((each) => each === values.algorithm);
    if (algorithm === undefined) throw new UsageError(`--algorithm: want one of ${algorithms.join(", ")}`);
    const name = checkName(values.name);
    return withAnnouncingStore(
      context,
      async (store) => {
        const source = systemSource(store.clock);
        const id = createId("mig", source.now);
        await registerMigration(createMigrationsRepository(store), { id, algorithm, name }, source);
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
      const rows = migrations.map(({ _id, algorithm, createdAt, name = "" }) => [_id, algorithm, new Date(createdAt).toISOString(), name]);
      for (const line of formatTable([["ID", "ALGORITHM", "CREATED", "NAME"], ...rows])) await context.print(line);
    });
  },
};

const remove: Command = {
  name: "migration delete",
  usage: "ID",
  summary: "Remove a migration: keys that still wait for their first use with it no longer verify.",
  run: (args, context) => {
    const [id = ""] = readArguments(args, {}, "ID").positionals;
    return withAnnouncingStore(context, async (store) => {
      const migrations = createMigrationsRepository(store);
      const found = await migrations.find(id);
      if (found === null || !(await removeMigration(migrations, found, systemSource(store.clock)))) {
        throw new Error(`the migration ${id} does not exist`);
      }
      await context.complain(`Deleted ${id}.`);
    });
  },
};

/** Registering imports of keys (keys §7). */
export const migrationCommands: readonly Command[] = [create, list, remove];
