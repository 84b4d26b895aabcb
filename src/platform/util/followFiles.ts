import { createHash } from "node:crypto";
import { createRounds } from "./rounds.ts";
import { readSettingFiles, type SettingFile, UnusableFile } from "./settingFiles.ts";

/** What some files hold, which follows them. */
export interface FollowedFiles<T> {
  /** The newest that could be used. */
  readonly value: () => T;
  /** Why what the files hold now is not used; undefined while it is. */
  readonly fault: () => UnusableFile | undefined;
  /** Uses at once what the files hold, also when it is what is used already. Never rejects. */
  readonly reload: () => Promise<void>;
  /** Looks no more. */
  readonly stop: () => void;
}

export interface FollowOptions<T> {
  readonly files: readonly SettingFile[];
  /** Makes the value of what the files hold, in their order; throws `UnusableFile`. */
  readonly parse: (contents: readonly Buffer[]) => T;
  /** Milliseconds between two looks. */
  readonly every: number;
  readonly onChange: (value: T) => void;
  /** The files hold something that cannot be used, told once for each content; the old value stays. */
  readonly onFault: (fault: UnusableFile) => void;
}

/** What was found at one look. */
interface Found {
  /** Equal for equal contents, and for equal failures. */
  readonly print: string;
  readonly contents: readonly Buffer[] | UnusableFile;
}

const asFault = (error: unknown): UnusableFile =>
  error instanceof UnusableFile
    ? error
    : new UnusableFile("malformed", error instanceof Error ? error.message : String(error), { cause: error });

const look = async (files: readonly SettingFile[]): Promise<Found> => {
  const hash = createHash("sha256");
  try {
    const contents = await readSettingFiles(files);
    for (const content of contents) hash.update(`${content.length} `).update(content);
    return { print: hash.digest("hex"), contents };
  } catch (error) {
    const fault = asFault(error);
    return { print: fault.message, contents: fault };
  }
};

/**
 * Reads files, and reads them again every so often. New content is used once two looks have found the same, so neither a file
 * that is half written nor a key that is newer than its certificate is taken for the last word. What counts is the content,
 * read by its path: whether somebody writes into the file, renames another one to it or turns a symbolic link above it
 * (as the kubelet does) makes no difference, nor does a file system that tells of no changes, as of those in a network.
 * Rejects when the first reading cannot be used.
 */
export const followFiles = async <T>({ files, parse, every, onChange, onFault }: FollowOptions<T>): Promise<FollowedFiles<T>> => {
  const first = await look(files);
  if (first.contents instanceof UnusableFile) throw first.contents;
  let value = parse(first.contents);
  let fault: UnusableFile | undefined;
  /** What was used, or could not be. */
  let handled = first.print;
  let seen = first.print;
  let isStopped = false;
  let latest = Promise.resolve();

  const handle = ({ print, contents }: Found): void => {
    handled = print;
    try {
      if (contents instanceof UnusableFile) throw contents;
      const next = parse(contents);
      onChange(next);
      value = next;
      fault = undefined;
    } catch (error) {
      fault = asFault(error);
      onFault(fault);
    }
  };
  /** One look after the other: what was read later is used later. */
  const inTurn = (use: (found: Found) => void): Promise<void> => {
    latest = latest.then(async () => {
      const found = await look(files);
      use(found);
      seen = found.print;
    });
    return latest;
  };
  const rounds = createRounds(every, () =>
    inTurn((found) => {
      if (!isStopped && found.print !== handled && found.print === seen) handle(found);
    }),
  );
  rounds.start();
  return {
    value: () => value,
    fault: () => fault,
    reload: () => inTurn(handle),
    stop: () => {
      isStopped = true;
      void rounds.stop();
    },
  };
};
