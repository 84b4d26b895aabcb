import type { Hash } from "node:crypto";
import { type BackedUpCollection, backedUp } from "./backedUp.ts";
import type { SourceFacts } from "./backupSource.ts";
import type { Tallies } from "./tally.ts";

/*
 * A backup is text in lines, compressed by zstd:
 *
 *   {"latchkeyBackup":1,"product":"0.6.0","takenAt":1764000000000,"engine":"embedded","schema":3,"madeBy":3}
 *   ["keys"]
 *   {"_id":"key_…",…}                       a document, see `toText`
 *   …                                       the others, then those of the other collections
 *   ["end",{"keys":{"documents":1,"digest":"…"},…},"SHA-256 of all lines before, with their ends"]
 */

/** The form above. */
export const BACKUP_FORMAT = 1;

/** What a backup begins with. */
export interface BackupHeader extends SourceFacts {
  readonly latchkeyBackup: number;
  /** The version that wrote it. */
  readonly product: string;
  /** Unix ms. */
  readonly takenAt: number;
  /** It is a step of an import into that store, which removes it at its end. */
  readonly importInto?: string;
}

/** What a backup ends with: one without it was not finished, or was cut off. */
export interface BackupEnd {
  readonly tallies: Tallies;
  /** Hexadecimal; names the backup, too. */
  readonly sha256: string;
}

/** One that this version cannot read, or that is not as it was written. Its message is for the user. */
export class BackupUnusableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "BackupUnusableError";
  }
}

export const collectionLine = (collection: BackedUpCollection): string => JSON.stringify([collection]);
export const endLine = ({ tallies, sha256 }: BackupEnd): string => JSON.stringify(["end", tallies, sha256]);

/** What a line stands for that is no document. */
export const readMark = (line: string): BackedUpCollection | BackupEnd => {
  const [name, tallies, sha256] = JSON.parse(line) as [string, Tallies | null, string];
  if (name === "end") {
    if (typeof tallies !== "object" || tallies === null) throw new BackupUnusableError("it does not end as one");
    return { tallies, sha256 };
  }
  const collection = backedUp.find((each) => each === name);
  if (collection === undefined)
    throw new BackupUnusableError(`the backup holds a collection ${JSON.stringify(name)}, which this version does not know`);
  return collection;
};

/** Adds a line to the hash over all of them. */
export const digestLine = (sum: Hash, line: string): void => {
  sum.update(line);
  sum.update("\n");
};
