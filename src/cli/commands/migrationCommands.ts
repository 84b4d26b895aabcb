import { systemSource } from "../../features/audit/auditEvent.ts";
import { algorithms } from "../../features/migrations/algorithm.ts";
import { createMigrationsRepository } from "../../features/migrations/migrationsRepository.ts";
import { migrationCreated, migrationDeleted } from "../../features/migrations/registration.ts";
import { createId } from "../../platform/base/ids.ts";
import { formatTable, jsonLine, oneLine } from "../../platform/util/table.ts";
import { readArguments } from "../arguments.ts";
import { checkName } from "../checkName.ts";
import { type Command, type CommandContext, CommandFailure, type ExitCode, UsageError } from "../command.ts";
import { withAnnouncingStore } from "../configuredStore.ts";
import { confirm, confirmOptions, requireConfirmable } from "../confirm.ts";
import { namedService } from "../remote/callService.ts";
import { connectionOptions } from "../remote/connection.ts";
import { findTarget } from "../remote/findTarget.ts";
import { allRows } from "../remote/pages.ts";

const create: Command = {
  name: "migration create",
  usage: `--algorithm ${algorithms.join("|")} [--name NAME] [--url URL]`,
  summary: "Register a migration of keys from another system; prints its id for keys.migrateKeys.",
  run: async (args, context) => {
    const { values } = readArguments(args, { ...connectionOptions, algorithm: { type: "string" }, name: { type: "string" } });
    const algorithm = algorithms.find((each) => each === values.algorithm);
    if (algorithm === undefined) throw new UsageError(`--algorithm: want one of ${algorithms.join(", ")}`);
    const name = checkName(values.name);
    const service = await namedService(values, context);
    if (service !== undefined) {
      const { data } = await service("migrations.createMigration", { algorithm, name });
      await context.print((data as { readonly migrationId: string }).migrationId);
      return 0;
    }
    return withAnnouncingStore(
      context,
      async (store) => {
        const source = systemSource(store.clock);
        const id = createId("mig", source.now);
        await createMigrationsRepository(store).insert({ id, algorithm, name }, source.now, [migrationCreated(source, id, name)]);
        await context.print(id);
      },
      "create",
    );
  },
};

/** As `migrations.listMigrations` shows it. */
interface Listed {
  readonly migrationId: string;
  readonly algorithm: string;
  readonly name?: string | undefined;
  readonly createdAt: number;
}

const printList = async (migrations: readonly Listed[], asJson: boolean | undefined, { print }: CommandContext): Promise<ExitCode> => {
  const rows = migrations.map(({ migrationId, algorithm, createdAt, name = "" }) => [
    migrationId,
    algorithm,
    new Date(createdAt).toISOString(),
    oneLine(name),
  ]);
  const lines = asJson ? [jsonLine(migrations)] : formatTable([["ID", "ALGORITHM", "CREATED", "NAME"], ...rows]);
  for (const line of lines) await print(line);
  return 0;
};

const list: Command = {
  name: "migration list",
  usage: "[--json] [--url URL]",
  summary: "List the registered migrations.",
  run: async (args, context) => {
    const { values } = readArguments(args, { ...connectionOptions, json: { type: "boolean" } });
    const service = await namedService(values, context);
    if (service !== undefined) return printList((await allRows(service, "migrations.listMigrations")) as Listed[], values.json, context);
    return withAnnouncingStore(context, async (store) => {
      const found = await createMigrationsRepository(store).list();
      const migrations = found.map(({ _id, algorithm, name, createdAt }) => ({ migrationId: _id, algorithm, name, createdAt }));
      await printList(migrations, values.json, context);
    });
  },
};

const remove: Command = {
  name: "migration delete",
  usage: "ID [--yes] [--url URL]",
  summary: "Remove a migration. Imported keys that have not been used yet and depend on it no longer verify.",
  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { ...connectionOptions, ...confirmOptions }, "ID");
    const [id = ""] = positionals;
    requireConfirmable(values, context);
    const service = await namedService(values, context);
    if (service !== undefined) {
      const request = { migrationId: id };
      const find = () => findTarget(service, "migrations.deleteMigration", request, context.clock.now());
      await confirm("deletes", find, values, context);
      await service("migrations.deleteMigration", request);
      await context.complain(`Deleted ${id}.`);
      return 0;
    }
    return withAnnouncingStore(context, async (store) => {
      const migrations = createMigrationsRepository(store);
      const found = await migrations.find(id);
      const gone = new CommandFailure(4, `the migration ${id} does not exist`);
      if (found === null) throw gone;
      const { name, algorithm } = found;
      await confirm("deletes", async () => ({ kind: "migration", id, name, facts: [["algorithm", algorithm]] }), values, context);
      const source = systemSource(store.clock);
      if (!(await migrations.delete(id, source.now, [migrationDeleted(source, id, name)]))) throw gone;
      await context.complain(`Deleted ${id}.`);
    });
  },
};

/** Registering imports of keys (keys §7). */
export const migrationCommands: readonly Command[] = [create, list, remove];
