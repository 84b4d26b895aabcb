import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { createNodesRepository } from "../../features/nodes/nodesRepository.ts";
import type { BackupSource } from "../../operations/backup/backupSource.ts";
import { type CheckedBackup, checkBackup } from "../../operations/backup/checkBackup.ts";
import { embeddedSource } from "../../operations/backup/embeddedSource.ts";
import { createPatiently, type Patiently } from "../../operations/backup/patiently.ts";
import { readBackupHeader } from "../../operations/backup/readBackup.ts";
import { type RestoreOptions, restoreBackup } from "../../operations/backup/restoreBackup.ts";
import { judgeTarget, RestoreRefusedError } from "../../operations/backup/restoreTarget.ts";
import { storeSource } from "../../operations/backup/storeSource.ts";
import { writeBackup } from "../../operations/backup/writeBackup.ts";
import { type Config, withoutCredentials } from "../../platform/config/loadConfig.ts";
import { version } from "../../platform/config/version.ts";
import { openSnapshot } from "../../platform/storage/embedded/openSnapshot.ts";
import { isServerLockTaken } from "../../platform/storage/embedded/serverLock.ts";
import { filesIn } from "../../platform/storage/embedded/storeFiles.ts";
import { openMongo, openStore } from "../../platform/storage/openStore.ts";
import { StoreUnavailableError } from "../../platform/storage/port/errors.ts";
import type { RestoreState } from "../../platform/storage/port/internalDocuments.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { counted } from "../../platform/util/counted.ts";
import { readArguments } from "../arguments.ts";
import { type Command, type CommandContext, CommandFailure, type ExitCode, UsageError } from "../command.ts";
import { describeStore, storeExists } from "../configuredStore.ts";
import { createProgressBar } from "../progressBar.ts";
import { readConfig } from "../readConfig.ts";
import { refusing } from "../refusing.ts";

type Place = Pick<Config, "mongodbUrl" | "dataDir">;

const refuseExisting = (file: string): void => {
  if (existsSync(file)) throw new UsageError(`${file} exists already: name another file`);
};

/** Writes all of a store to `file`. @param importInto the store that it is copied to, where it is a step of an import */
const takeBackup = async (place: Place, file: string, context: CommandContext, importInto?: string): Promise<void> => {
  refuseExisting(file);
  const write = async (source: BackupSource): Promise<void> => {
    const bar = createProgressBar(context, source.size ?? 0);
    const now = context.clock.now();
    const { tallies } = await writeBackup(source, file, { product: version, now, importInto, onProgress: bar.reach }).finally(bar.end);
    const documents = Object.values(tallies).reduce((sum, tally) => sum + tally.documents, 0);
    await context.print(`${file}: ${counted(documents, "document")} of the ${describeStore(place)}`);
  };
  if (place.mongodbUrl === undefined) {
    const snapshot = openSnapshot(resolve(place.dataDir));
    return (async () => write(embeddedSource(snapshot, context.clock.now())))().finally(snapshot.close);
  }
  const store = await openMongo({ url: place.mongodbUrl, clock: context.clock, mode: "look", limitsFor: "data" });
  try {
    await store.prepare();
    const source = await storeSource(store, withoutCredentials(place.mongodbUrl), patientlyWith(store, context));
    const nodes = await createNodesRepository(store).list(store.clock.now());
    if (nodes.length > 0) {
      await context.complain(
        `${counted(nodes.length, "node")} of the service ${nodes.length === 1 ? "is" : "are"} running: what changes meanwhile may be in the backup by half; stop them for an exact one`,
      );
    }
    await givingUp(write(source), place, "then take the backup again");
  } finally {
    await store.close();
  }
};

/** Tries again what the store could not do, and says so. */
const patientlyWith = (store: Store, context: CommandContext): Patiently => {
  const onPause = ({ message }: Error, seconds: number): void => {
    context.showProgress?.("");
    void context.complain(`${message}; trying again in ${counted(seconds, "second")}`);
  };
  return createPatiently(store, { onPause });
};

/** Where the store was away for longer than a command waits: what to do then. */
const givingUp = async <T>(work: Promise<T>, place: Place, advice: string): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    throw new CommandFailure(7, `gave up: the ${describeStore(place)} did not answer for five minutes; see that it is up, ${advice}`, {
      cause: error,
    });
  }
};

/** Reads all of a backup. Rejects where it cannot be restored. */
export const checkBackupFile = async (
  file: string,
  despiteAuditFaults: boolean,
  config: Config,
  context: CommandContext,
): Promise<CheckedBackup> => {
  if (!existsSync(file)) throw new UsageError(`there is no file ${file}`);
  context.showProgress?.("checking the backup …");
  const checked = await checkBackup(file).finally(() => context.showProgress?.(""));
  const { header, documents, entries, head, fault, encryptionKeys } = checked;
  const taken = new Date(header.takenAt).toISOString();
  await context.print(`${file}: ${counted(documents, "document")}, taken ${taken} by version ${header.product}`);
  if (fault !== undefined && !despiteAuditFaults) {
    throw new CommandFailure(1, `the audit log in the backup is not whole: ${fault}; --despite-audit-faults restores it as it is`);
  }
  if (fault !== undefined) await context.complain(`the audit log in the backup is not whole: ${fault}`);
  else await context.print(`audit log: ${counted(entries, "entry", "entries")}, whole, head ${head}`);
  const known = new Set((config.encryptionKeys ?? []).map(({ id }) => id));
  const missing = encryptionKeys.filter((id) => !known.has(id));
  if (missing.length > 0) {
    await context.complain(
      `recoverable keys are encrypted with ${missing.join(", ")}, which ENCRYPTION_KEYS does not name: their secrets cannot be shown without`,
    );
  }
  return checked;
};

/** What of a store is there, where it is one that a restore may write into. */
const judge = (config: Config, context: CommandContext): Promise<RestoreState | undefined> =>
  refusing(judgeTarget(config, context.clock), RestoreRefusedError);

/** Writes a backup that was checked into the configured store. */
export const putBack = async (
  file: string,
  checked: CheckedBackup,
  config: Config,
  context: CommandContext,
  isImport?: true,
): Promise<void> => {
  const store = await openStore({ ...config, clock: context.clock, mode: "restore" });
  const patiently = patientlyWith(store, context);
  const advice = "then repeat this command: it goes on where it was";
  try {
    // A restore may have been given a wrong address; an import has used it before it read the other store, perhaps for hours.
    await (isImport
      ? givingUp(
          patiently(() => store.prepare()),
          config,
          advice,
        )
      : store.prepare());
    // Once to write, once to compare.
    const bar = createProgressBar(context, 2 * checked.documents);
    const onProgress: RestoreOptions["onProgress"] = (step, count) => {
      if (step === "index") context.showProgress?.("building the indexes …");
      else bar.reach(step === "write" ? count : checked.documents + count);
    };
    const restoring = restoreBackup(store, file, checked, { isImport, onProgress, patiently });
    const done = await givingUp(refusing(restoring, RestoreRefusedError), config, advice).finally(bar.end);
    const { documents, expired, expiring, resumedAt } = done;
    const notCompared = expiring === 0 ? "" : `, but for ${expiring.toLocaleString("en")} that will expire`;
    const resumed = resumedAt === undefined ? "" : `; ${resumedAt.toLocaleString("en")} of them by an attempt before this one`;
    const left = expired === 0 ? "" : `; ${counted(expired, "document")} had expired`;
    await context.print(
      `${describeStore(config)}: ${counted(documents - expired, "document")} restored and compared${notCompared}${resumed}${left}`,
    );
  } finally {
    await store.close();
  }
};

/** Of the embedded store a backup is one moment; what comes after that moment is not in the copy. */
const warnOfService = async ({ mongodbUrl, dataDir }: Place, context: CommandContext): Promise<void> => {
  if (mongodbUrl !== undefined) return;
  if (!isServerLockTaken(filesIn(dataDir).lock)) return;
  await context.complain(
    `a service is running on ${resolve(dataDir)}: what changes meanwhile is not in the copy; stop it for an exact one`,
  );
};

/** Whether a file is an import's own copy, which an attempt into the configured store has left. */
const isLeftOfImport = async (file: string, config: Config): Promise<boolean> => {
  if (!existsSync(file)) return false;
  return (await readBackupHeader(file))?.importInto === describeStore(config);
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
    const [file = ""] = positionals;
    const config = readConfig(context.env);
    await judge(config, context);
    await putBack(file, await checkBackupFile(file, values["despite-audit-faults"] === true, config, context), config, context);
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
    const place = { mongodbUrl, dataDir: dataDir ?? config.dataDir };
    const restoring = await judge(config, context);
    // Only one that this import began: others have a backup of their own, or none any more.
    const mayGoOn = restoring?.isImport === true && existsSync(file);
    if (!mayGoOn) {
      if (restoring === undefined && (await isLeftOfImport(file, config))) {
        await context.print(`${file} is of an import into this store that had not begun to write: taking it anew`);
        await rm(file);
      }
      refuseExisting(file);
      if (restoring !== undefined) {
        throw new CommandFailure(
          5,
          "the restore of a backup into the configured store did not end: go on with that one, or begin with an empty store",
        );
      }
      await warnOfService(place, context);
      await takeBackup(place, file, context, describeStore(config));
    }
    try {
      const checked = await checkBackupFile(file, values["despite-audit-faults"] === true, config, context);
      if (mayGoOn) {
        if (checked.end.sha256 !== restoring.backup) refuseExisting(file);
        await context.print(`${file} is there: going on with it`);
      }
      await putBack(file, checked, config, context, true);
    } catch (error) {
      // Where nothing was written yet nothing would go on with it.
      const isNeeded =
        mayGoOn ||
        (await judge(config, context).then(
          (begun) => begun !== undefined,
          () => true,
        ));
      if (!isNeeded) await rm(file);
      throw error;
    }
    await rm(file);
    return 0;
  },
};

/** The data of the store as a file, and from one engine to the other. */
export const backupCommands: readonly Command[] = [backup, restore, importStore];
