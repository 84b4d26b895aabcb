import { statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { BackupHeader } from "../../operations/backup/backupLines.ts";
import type { CheckedBackup } from "../../operations/backup/checkBackup.ts";
import { readBackupHeader } from "../../operations/backup/readBackup.ts";
import type { Config } from "../../platform/config/loadConfig.ts";
import { findDamage } from "../../platform/storage/embedded/damage/findDamage.ts";
import { setAsideStore } from "../../platform/storage/embedded/damage/setAsideStore.ts";
import { takeServerLock } from "../../platform/storage/embedded/serverLock.ts";
import { filesIn } from "../../platform/storage/embedded/storeFiles.ts";
import { readArguments } from "../arguments.ts";
import { type Command, type CommandContext, CommandFailure, UsageError } from "../command.ts";
import { requireStore } from "../configuredStore.ts";
import { requireConfirmable } from "../confirm.ts";
import { readConfig } from "../readConfig.ts";
import { checkBackupFile, putBack } from "./backupCommands.ts";

interface FoundBackup {
  readonly file: string;
  readonly header: BackupHeader;
}

const options = { yes: { type: "boolean" }, "despite-audit-faults": { type: "boolean" } } as const;

interface Wanted {
  /** A backup, or a directory of backups. */
  readonly place: string;
  readonly isConfirmed: boolean;
  readonly despiteAuditFaults: boolean;
}

/** The newest backup in a directory, or the one that is named; undefined where there is none. */
const findBackup = async (place: string): Promise<FoundBackup | undefined> => {
  const isDirectory = statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
  const names = isDirectory ? (await readdir(place)).filter((name) => name.endsWith(".backup")) : [];
  let newest: FoundBackup | undefined;
  for (const file of isDirectory ? names.map((name) => join(place, name)) : [place]) {
    const header = await readBackupHeader(file);
    if (header !== undefined && (newest === undefined || header.takenAt > newest.header.takenAt)) newest = { file, header };
  }
  return newest;
};

const confirmRestore = async ({ file, header }: FoundBackup, context: CommandContext): Promise<void> => {
  requireConfirmable({}, context);
  const taken = new Date(header.takenAt).toISOString();
  const answer = await context.ask?.(`Restore ${file}, taken ${taken}? Changes made since then are lost. [y/N] `);
  if (!/^y(es)?$/i.test(answer?.trim() ?? "")) throw new CommandFailure(2, "nothing was done");
};

/** Renames the damaged files once a backup to restore is found, checked and confirmed. Undefined where nothing is damaged. */
const setAsideDamaged = async (
  config: Config,
  { place, isConfirmed, despiteAuditFaults }: Wanted,
  context: CommandContext,
): Promise<{ readonly file: string; readonly checked: CheckedBackup } | undefined> => {
  const dataDir = resolve(config.dataDir);
  const files = filesIn(dataDir);
  const release = takeServerLock(files.lock, dataDir);
  try {
    const damage = findDamage(files, false);
    if (damage === undefined) {
      await context.print(`Nothing is damaged in ${dataDir}.`);
      return undefined;
    }
    await context.print(`${damage}.`);
    const found = await findBackup(place);
    if (found === undefined)
      throw new CommandFailure(1, `no backup was found in ${place}, so nothing was changed; name one: latchkey repair BACKUP`);
    const checked = await checkBackupFile(found.file, despiteAuditFaults, config, context);
    if (!isConfirmed) await confirmRestore(found, context);
    const aside = setAsideStore(files, context.clock);
    if (aside !== undefined) await context.print(`The damaged file is kept as ${basename(aside)}.`);
    return { file: found.file, checked };
  } finally {
    release();
  }
};

/** Nothing is deleted: the damaged file stays under another name. */
export const repair: Command = {
  name: "repair",
  usage: "[BACKUP] [--yes] [--despite-audit-faults]",
  summary:
    "Replace a damaged state file of the embedded store by a backup, after asking: by the file BACKUP, or the newest *.backup in the directory BACKUP (DATA_DIR/backups). Keeps the damaged file under another name. Stop the service first.",
  run: async (args, context) => {
    const names = args.some((argument) => !argument.startsWith("-")) ? ["BACKUP"] : [];
    const { positionals, values } = readArguments(args, options, ...names);
    const config = readConfig(context.env);
    if (config.mongodbUrl !== undefined) throw new UsageError("repair is only for the embedded store: unset MONGODB_URL");
    requireStore(config);
    const place = resolve(positionals[0] ?? join(config.dataDir, "backups"));
    const wanted = { place, isConfirmed: values.yes === true, despiteAuditFaults: values["despite-audit-faults"] === true };
    const restorable = await setAsideDamaged(config, wanted, context);
    if (restorable !== undefined) await putBack(restorable.file, restorable.checked, config, context);
    return 0;
  },
};
