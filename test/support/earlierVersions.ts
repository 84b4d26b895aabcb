import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../src/platform/config/version.ts";
import { SCHEMA_VERSION } from "../../src/platform/storage/port/baseDocument.ts";

const root = join(import.meta.dirname, "../..");

const git = (...args: string[]): string => {
  const { status, stdout } = spawnSync("git", ["-C", root, ...args], { encoding: "utf8", maxBuffer: 64 * 1024 ** 2 });
  return status === 0 ? stdout : "";
};
const lines = (text: string): string[] => text.split("\n").filter((line) => line !== "");

/** The commit that made the version before this one; undefined where there is no history to ask. */
const previousCommit = (): string | undefined =>
  lines(git("log", "--format=%H", '-G^  "version":', "--", "package.json")).find((commit) => {
    const text = git("show", `${commit}:package.json`);
    return text !== "" && (JSON.parse(text) as { version: string }).version !== version;
  });

/** The last commit whose schema was an older one. */
const olderSchemaCommit = (): string | undefined =>
  lines(git("log", "--format=%H", "-GSCHEMA_VERSION = [0-9]", "--", "src"))
    .map((commit) => `${commit}^`)
    .find((commit) => {
      const found = /SCHEMA_VERSION = (\d+)/.exec(git("grep", "-h", "SCHEMA_VERSION = [0-9]", commit, "--", "src"))?.[1];
      return found !== undefined && Number(found) < SCHEMA_VERSION;
    });

/** A version out of the history, with the packages of this one. */
export interface EarlierVersion {
  /** Its `main.ts`. */
  readonly program: string;
  readonly remove: () => void;
}

const unpack = (commit: string | undefined): EarlierVersion | undefined => {
  if (commit === undefined) return undefined;
  const directory = mkdtempSync(join(tmpdir(), "latchkey-earlier-"));
  const needed = new Set(["docs", "gen", "package.json", "proto", "src", "ui"]);
  const paths = lines(git("ls-tree", "--name-only", commit)).filter((path) => needed.has(path));
  const archive = execFileSync("git", ["-C", root, "archive", commit, ...paths], { maxBuffer: 256 * 1024 ** 2 });
  execFileSync("tar", ["-x", "-C", directory], { input: archive });
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  return { program: join(directory, "src/main.ts"), remove: () => rmSync(directory, { recursive: true }) };
};

/** The version before this one, as it was released. Undefined in a checkout without its history. */
export const previousVersion = (): EarlierVersion | undefined => unpack(previousCommit());

/** The last one that wrote an older schema than this one. Undefined in a checkout without its history. */
export const versionOfOlderSchema = (): EarlierVersion | undefined => unpack(olderSchemaCommit());
