import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createZstdDecompress } from "node:zlib";
import { SCHEMA_VERSION } from "../../platform/storage/port/baseDocument.ts";
import { SchemaTooNewError } from "../../platform/storage/schemaVersion.ts";
import { BACKUP_FORMAT, type BackupEnd, type BackupHeader, BackupUnusableError, digestLine, readMark } from "./backupLines.ts";
import { type Gathered, gather, type SourceBatch } from "./backupSource.ts";

/** No document is as long: the largest body of a request has 10 MiB. */
const LONGEST_LINE = 64 * 1024 * 1024;
const NEW_LINE = 0x0a;
/** Of what a Date can tell. */
const LAST_MOMENT = 8.64e15;

/** Lines of a compressed file, several at a time. */
const linesOf = async function* (file: string): AsyncGenerator<readonly string[], void> {
  const input = createReadStream(file, { highWaterMark: 256 * 1024 });
  const text = input.pipe(createZstdDecompress({ chunkSize: 256 * 1024 }));
  // A pipe does not tell of errors behind itself.
  input.on("error", (error) => text.destroy(error));
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of text as AsyncIterable<Buffer>) {
    const last = chunk.lastIndexOf(NEW_LINE);
    if (last >= 0) {
      const whole = Buffer.concat([...rest, chunk.subarray(0, last)]);
      yield whole.toString("utf8").split("\n");
      rest = [];
      restBytes = 0;
    }
    const begun = chunk.subarray(last + 1);
    rest.push(begun);
    restBytes += begun.length;
    if (restBytes > LONGEST_LINE) throw new BackupUnusableError(`a line has more than ${LONGEST_LINE} bytes`);
  }
  if (restBytes > 0) throw new BackupUnusableError("it ends in the middle of a line");
};

/** What a file says is not to steer the terminal on which it is shown. */
const printable = (text: string): string => text.replace(/\p{C}/gu, "");

const readHeader = (line: string): BackupHeader => {
  const header = JSON.parse(line) as BackupHeader;
  const { latchkeyBackup, product, takenAt, schema, madeBy } = header ?? {};
  const wrong = new BackupUnusableError("it does not begin as one");
  if (!Number.isFinite(latchkeyBackup) || typeof product !== "string") throw wrong;
  if (header.latchkeyBackup > BACKUP_FORMAT) {
    throw new BackupUnusableError(
      `it was written by ${printable(product)} in form ${header.latchkeyBackup}; this version reads up to ${BACKUP_FORMAT}`,
    );
  }
  if (![takenAt, schema, madeBy].every(Number.isFinite) || Math.abs(takenAt) > LAST_MOMENT) throw wrong;
  if (header.schema > SCHEMA_VERSION) throw new SchemaTooNewError(header.schema);
  return { ...header, product: printable(product) };
};

/** What a backup begins with; undefined where that cannot be read. The rest is not looked at. */
export const readBackupHeader = async (file: string): Promise<BackupHeader | undefined> => {
  try {
    for await (const [first = ""] of linesOf(file)) return readHeader(first);
  } catch {
    // Whatever it is, it is not one that this version has written.
  }
  return undefined;
};

/** What is read of a backup, in its order. */
export type BackupPart =
  | { readonly kind: "header"; readonly header: BackupHeader }
  | ({ readonly kind: "batch" } & SourceBatch)
  | { readonly kind: "end"; readonly end: BackupEnd };

async function* partsOf(file: string): AsyncGenerator<BackupPart, void> {
  const sum = createHash("sha256");
  let gathered: Gathered | undefined;
  let isBegun = false;
  let end: BackupEnd | undefined;
  const partOf = function* (batch: SourceBatch | undefined): Generator<BackupPart, void> {
    if (batch !== undefined) yield { kind: "batch", ...batch };
  };
  for await (const lines of linesOf(file)) {
    for (const line of lines) {
      if (end !== undefined) throw new BackupUnusableError("something follows its end");
      const mark = isBegun && line.startsWith("[") ? readMark(line) : undefined;
      if (typeof mark === "object") {
        yield* partOf(gathered?.rest());
        if (mark.sha256 !== sum.digest("hex")) throw new BackupUnusableError("its checksum does not fit: it was changed or damaged");
        end = mark;
        yield { kind: "end", end };
        continue;
      }
      digestLine(sum, line);
      if (mark !== undefined) {
        yield* partOf(gathered?.rest());
        gathered = gather(mark);
      } else if (isBegun) {
        if (gathered === undefined) throw new BackupUnusableError("a document belongs to no collection");
        yield* partOf(gathered.add(line));
      } else {
        isBegun = true;
        yield { kind: "header", header: readHeader(line) };
      }
    }
  }
  if (end === undefined) throw new BackupUnusableError("it has no end: it was not finished, or was cut off");
}

/** What Node says of a file that zstd cannot read, or not to its end. */
const isNotCompressed = (error: unknown): boolean => error instanceof Error && "code" in error && /^Z(STD)?_/.test(String(error.code));

/**
 * Reads a backup, and checks that it is as it was written, to its end: only who has read that knows it. Rejects with
 * `BackupUnusableError`, or `SchemaTooNewError` for one of a newer version.
 */
export async function* readBackup(file: string): AsyncGenerator<BackupPart, void> {
  try {
    yield* partsOf(file);
  } catch (error) {
    if (error instanceof BackupUnusableError) throw new BackupUnusableError(`${file} is no backup that can be used: ${error.message}`);
    if (error instanceof SyntaxError || isNotCompressed(error)) {
      throw new BackupUnusableError(`${file} is no backup that can be used: it is damaged, or something else`, { cause: error });
    }
    throw error;
  }
}
