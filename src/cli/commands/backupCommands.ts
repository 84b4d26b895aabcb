import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { CheckedBackup } from "../../backup/checkBackup.ts";
import type { Config } from "../../config/loadConfig.ts";
import { openStore } from "../../storage/openStore.ts";
import { createNodesRepository } from "../../storage/repositories/nodesRepository.ts";
import { version } from "../../version.ts";
import { readArguments } from "../arguments.ts";
import { type Command, type CommandContext, CommandFailure, type ExitCode, UsageError } from "../command.ts";
import { describeStore, storeExists, withStore } from "../configuredStore.ts";
import { createProgressBar } from "../progressBar.ts";
import { readConfig } from "../readConfig.ts";

type Place = Pick<Config, "mongodbUrl" | "dataDir">;

const counted = (count: number, noun: string): string => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** Writes all of a store to `file`. */
const takeBackup = async (place: Place, file: string, context: CommandContext): Promise<void> => {
  if (existsSync(file)) throw new UsageError(`${file} exists already: name another file`);
  const { writeBackup } = await import("../../backup/writeBackup.ts");
  const write = async (source: Parameters<typeof writeBackup>[0]): Promise<void> => {
    const bar = createProgressBar(context, source.size ?? 0);
    const now = context.clock.now();
    const { tallies } = await writeBackup(source, file, { product: version, now, onProgress: bar.reach }).finally(bar.end);
    const documents = Object.values(tallies).reduce((sum, tally) => sum + tally.documents, 0);
    await context.print(`${file}: ${counted(documents, "document")} of the ${describeStore(place)}`);
  };
  if (place.mongodbUrl === undefined) {
    const [{ openSnapshot }, { embeddedSource }] = await Promise.all([
      import("../../storage/embedded/openSnapshot.ts"),
      import("../../backup/embeddedSource.ts"),
    ]);
    const snapshot = openSnapshot(resolve(place.dataDir));
    return write(embeddedSource(snapshot, context.clock.now())).finally(snapshot.close);
  }
  const { storeSource } = await import("../../backup/storeSource.ts");
  return withStore(place, context.clock, async (store) => {
    const nodes = await createNodesRepository(store).list(store.clock.now());
    if (nodes.length > 0) {
      await context.complain(
        `${counted(nodes.length, "node")} of the service ${nodes.length === 1 ? "is" : "are"} running: what changes meanwhile may be in the backup by half; stop them for an exact one`,
      );
    }
    await write(await storeSource(store));
  });
};

/** Reads all of a backup. Rejects where it cannot be restored. */
const check = async (file: string, despiteAuditFaults: boolean, config: Config, context: CommandContext): Promise<CheckedBackup> => {
  if (!existsSync(file)) throw new UsageError(`there is no file ${file}`);
  const { checkBackup } = await import("../../backup/checkBackup.ts");
  context.showProgress?.("checking the backup …");
  const checked = await checkBackup(file).finally(() => context.showProgress?.(""));
  const { header, documents, entries, head, fault, encryptionKeys } = checked;
  const taken = new Date(header.takenAt).toISOString();
  await context.print(`${file}: ${counted(documents, "document")}, taken ${taken} by version ${header.product}`);
  if (fault !== undefined && !despiteAuditFaults) {
    throw new CommandFailure(1, `the audit log in the backup is not whole: ${fault}; --despite-audit-faults restores it as it is`);
  }
  if (fault !== undefined) await context.complain(`the audit log in the backup is not whole: ${fault}`);
  else await context.print(`audit log: ${counted(entries, "entry").replace(/entrys$/, "entries")}, whole, head ${head}`);
  const known = new Set((config.encryptionKeys ?? []).map(({ id }) => id));
  const missing = encryptionKeys.filter((id) => !known.has(id));
  if (missing.length > 0) {
    await context.complain(
      `recoverable keys are encrypted with ${missing.join(", ")}, which ENCRYPTION_KEYS does not name: their secrets cannot be shown without`,
    );
  }
  return checked;
};

/** Writes a backup into the configured store. */
const putBack = async (file: string, despiteAuditFaults: boolean, context: CommandContext): Promise<void> => {
  const config = readConfig(context.env);
  const checked = await check(file, despiteAuditFaults, config, context);
  const { RestoreRefusedError, restoreBackup } = await import("../../backup/restoreBackup.ts");
  const store = await openStore({ ...config, clock: context.clock, mode: "restore" });
  try {
    await store.prepare();
    // Once to write, once to compare.
    const bar = createProgressBar(context, 2 * checked.documents);
    const { documents, expired, resumedAt } = await restoreBackup(store, file, checked, (step, count) =>
      bar.reach(step === "write" ? count : checked.documents + count),
    ).finally(bar.end);
    const resumed = resumedAt === undefined ? "" : `, ${resumedAt.toLocaleString("en")} of them by an attempt before this one`;
    const left = expired === 0 ? "" : `; ${counted(expired, "document")} had expired`;
    await context.print(`${describeStore(config)}: ${counted(documents - expired, "document")} restored and compared${resumed}${left}`);
  } catch (error) {
    throw error instanceof RestoreRefusedError ? new CommandFailure(5, error.message) : error;
  } finally {
    await store.close();
  }
};

const despite = { "despite-audit-faults": { type: "boolean" } } as const;

const backup: Command = {
  name: "backup",
  usage: "FILE",
  summary:
    "Write all that the store holds to a new file, beside a running service as well: one moment of the embedded store, counts of rate limits included. Events of analytics are not in it.",
  run: async (args, context): Promise<ExitCode> => {
    const { positionals } = readArguments(args, {}, "FILE");
    const config = readConfig(context.env);
    if (!storeExists(config))
      throw new UsageError(`there is no store in ${resolve(config.dataDir)}: set DATA_DIR or MONGODB_URL to where it is`);
    await takeBackup(config, positionals[0] ?? "", context);
    return 0;
  },
};

const restore: Command = {
  name: "restore",
  usage: "FILE [--despite-audit-faults]",
  summary:
    "Check a backup, counts and audit log included, write it into an empty store of either engine, and compare. Stop the service first; repeat it if it was interrupted.",
  run: async (args, context): Promise<ExitCode> => {
    const { positionals, values } = readArguments(args, despite, "FILE");
    await putBack(positionals[0] ?? "", values["despite-audit-faults"] === true, context);
    return 0;
  },
};

const importStore: Command = {
  name: "import",
  usage: "(--from-data-dir DIR | FROM_MONGODB_URL) [--file FILE] [--despite-audit-faults]",
  summary:
    "Copy another store into the configured, empty one: the embedded store in DIR, or that of the variable FROM_MONGODB_URL. Goes by a backup in FILE (latchkey-import.backup), which is removed at the end. Stop the service of the other store first, else what it changes meanwhile stays behind; repeat it if it was interrupted.",
  run: async (args, context): Promise<ExitCode> => {
    const { values } = readArguments(args, { ...despite, "from-data-dir": { type: "string" }, file: { type: "string" } });
    const { "from-data-dir": dataDir, file = "latchkey-import.backup" } = values;
    const mongodbUrl = context.env.FROM_MONGODB_URL;
    if ((dataDir === undefined) === (mongodbUrl === undefined)) {
      throw new UsageError("name the store to copy: either --from-data-dir DIR, or the variable FROM_MONGODB_URL");
    }
    const config = readConfig(context.env);
    const isSame =
      mongodbUrl === undefined
        ? config.mongodbUrl === undefined && resolve(dataDir ?? "") === resolve(config.dataDir)
        : mongodbUrl === config.mongodbUrl;
    if (isSame) throw new UsageError("that is the configured store itself: set MONGODB_URL or DATA_DIR to where the copy is to be");
    if (existsSync(file)) await context.print(`${file} is there: going on with it`);
    else await takeBackup({ mongodbUrl, dataDir: dataDir ?? config.dataDir }, file, context);
    await putBack(file, values["despite-audit-faults"] === true, context);
    await rm(file);
    return 0;
  },
};

/** The data of the store as a file, and from one engine to the other. */
export const backupCommands: readonly Command[] = [backup, restore, importStore];
