import { readFile, stat } from "node:fs/promises";

/** A file that a setting names. */
export interface SettingFile {
  /** Such as `TLS_CERT`. */
  readonly setting: string;
  readonly path: string;
}

/** What files hold cannot be used. The message names settings and files, says how to mend it, and holds nothing of their content. */
export class UnusableFile extends Error {
  /** One word, as metrics and the log have it: `unreadable`, or what whoever reads the content calls it. */
  readonly reason: string;
  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UnusableFile";
    this.reason = reason;
  }
}

/** Far more than a chain of certificates takes, in bytes. */
const MOST_BYTES = 1024 ** 2;

/** Why a file is not even opened: opening a named pipe waits until somebody writes to it. */
const refusalOf = async (path: string): Promise<string | undefined> => {
  const found = await stat(path);
  if (!found.isFile()) return "is not a regular file";
  return found.size > MOST_BYTES ? `has more than ${MOST_BYTES} bytes` : undefined;
};

/** What they hold, in their order. Rejects with `UnusableFile` when one cannot be read. */
export const readSettingFiles = (files: readonly SettingFile[]): Promise<readonly Buffer[]> =>
  Promise.all(
    files.map(async ({ setting, path }) => {
      let refusal: string | undefined;
      try {
        refusal = await refusalOf(path);
        if (refusal === undefined) return await readFile(path);
      } catch (cause) {
        const code = cause instanceof Error && "code" in cause ? ` (${cause.code})` : "";
        throw new UnusableFile("unreadable", `${setting}: ${JSON.stringify(path)} cannot be read${code}`, { cause });
      }
      throw new UnusableFile("unreadable", `${setting}: ${JSON.stringify(path)} ${refusal}`);
    }),
  );
