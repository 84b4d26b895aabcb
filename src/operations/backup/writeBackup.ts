import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, link, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress } from "node:zlib";
import { syncDirectory } from "../../platform/storage/embedded/syncDirectory.ts";
import type { BackedUpCollection } from "./backedUp.ts";
import { BACKUP_FORMAT, type BackupEnd, type BackupHeader, collectionLine, digestLine, endLine } from "./backupLines.ts";
import type { BackupSource } from "./backupSource.ts";
import { createTally } from "./tally.ts";

export interface WriteBackupOptions {
  /** The version that writes it. */
  readonly product: string;
  /** Unix ms. */
  readonly now: number;
  /** See `BackupHeader`. */
  readonly importInto?: string | undefined;
  /** Hears how many documents are written. */
  readonly onProgress?: ((documents: number) => void) | undefined;
}

/** Whether a name stands for the open file: another run may have put its own in its place. */
const isNameOf = async (name: string, handle: FileHandle): Promise<boolean> => {
  const [own, found] = await Promise.all([handle.stat(), stat(name).catch(() => undefined)]);
  return own.ino === found?.ino && own.dev === found.dev;
};

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** Gives a draft its name, unless that is taken. */
const giveName = async (draft: string, file: string): Promise<void> => {
  const taken = (cause?: unknown): Error => new Error(`${file} exists already: name another file`, { cause });
  try {
    await link(draft, file);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw taken(error);
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(String(codeOf(error)))) throw error;
    // A file system without links, as on some disks that are carried around.
    if (existsSync(file)) throw taken(error);
    return rename(draft, file);
  }
  await rm(draft);
};

/**
 * Writes all of a source to a new file, readable for its owner only, which has its name once it is whole and on disk: an attempt that
 * was killed leaves `FILE.part`, and the next one replaces that; one that fails removes it. Rejects where the file exists by the end, or
 * another attempt has replaced the draft.
 */
export const writeBackup = async (
  source: BackupSource,
  file: string,
  { product, now, importInto, onProgress }: WriteBackupOptions,
): Promise<BackupEnd> => {
  const draft = `${file}.part`;
  await rm(draft, { force: true });
  const handle = await open(draft, "wx", 0o600);
  const sum = createHash("sha256");
  const tally = createTally();
  let end: BackupEnd | undefined;

  const lines = async function* (): AsyncGenerator<string, void> {
    const header: BackupHeader = {
      latchkeyBackup: BACKUP_FORMAT,
      product,
      takenAt: now,
      ...(importInto !== undefined && { importInto }),
      ...source.facts,
    };
    let collection: BackedUpCollection | undefined;
    let documents = 0;
    const told = (line: string): string => {
      digestLine(sum, line);
      return `${line}\n`;
    };
    yield told(JSON.stringify(header));
    for await (const batch of source.read()) {
      if (batch.collection !== collection) {
        collection = batch.collection;
        yield told(collectionLine(collection));
      }
      tally.add(batch);
      const chunk = `${batch.texts.join("\n")}\n`;
      sum.update(chunk);
      yield chunk;
      documents += batch.texts.length;
      onProgress?.(documents);
    }
    end = { tallies: tally.result(), sha256: sum.digest("hex") };
    yield `${endLine(end)}\n`;
  };

  try {
    await pipeline(Readable.from(lines()), createZstdCompress(), async (chunks) => {
      for await (const chunk of chunks as AsyncIterable<Buffer>) await handle.writeFile(chunk);
    });
    await handle.sync();
    if (!(await isNameOf(draft, handle))) throw new Error(`another backup is being written to ${file}: name another file`);
    await giveName(draft, file);
    syncDirectory(dirname(file));
  } catch (error) {
    if (await isNameOf(draft, handle)) await rm(draft, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  if (end === undefined) throw new Error("the backup has no end");
  return end;
};
