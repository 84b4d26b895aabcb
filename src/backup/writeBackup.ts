import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress } from "node:zlib";
import { syncDirectory } from "../storage/embedded/syncDirectory.ts";
import type { BackedUpCollection } from "./backedUp.ts";
import { BACKUP_FORMAT, type BackupEnd, type BackupHeader, collectionLine, digestLine, endLine } from "./backupLines.ts";
import type { BackupSource } from "./backupSource.ts";
import { createTally } from "./tally.ts";

export interface WriteBackupOptions {
  /** The version that writes it. */
  readonly product: string;
  /** Unix ms. */
  readonly now: number;
  /** Hears how many documents are written. */
  readonly onProgress?: ((documents: number) => void) | undefined;
}

/**
 * Writes all of a source to a new file, readable for its owner only, which has its name once it is whole and on disk: an attempt that
 * was killed leaves `FILE.part`, and the next one writes over that. Rejects where the file exists.
 */
export const writeBackup = async (
  source: BackupSource,
  file: string,
  { product, now, onProgress }: WriteBackupOptions,
): Promise<BackupEnd> => {
  const draft = `${file}.part`;
  await rm(draft, { force: true });
  const sum = createHash("sha256");
  const tally = createTally();
  let end: BackupEnd | undefined;

  const lines = async function* (): AsyncGenerator<string, void> {
    const header: BackupHeader = { latchkeyBackup: BACKUP_FORMAT, product, takenAt: now, ...source.facts };
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

  await pipeline(Readable.from(lines()), createZstdCompress(), createWriteStream(draft, { flags: "wx", mode: 0o600 }));
  const handle = await open(draft, "r+");
  await handle.sync().finally(() => handle.close());
  await rename(draft, file);
  syncDirectory(dirname(file));
  if (end === undefined) throw new Error("the backup has no end");
  return end;
};
