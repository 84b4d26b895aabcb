import { execFileSync } from "node:child_process";
import { ownRoot } from "./processes.ts";

/**
 * Runs `latchkey <args>` in a process of its own, beside a service too; returns its standard output without blanks around it.
 * @param env the settings that name the store.
 * @param root of another checkout whose command it is.
 */
export const runCommand = (args: readonly string[], env: Readonly<Record<string, string>>, root: string = ownRoot): string =>
  execFileSync(process.execPath, ["src/main.ts", ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();

/** Registers an import of SHA-256 hashes; returns its id. The parameters are those of `runCommand`. */
export const registerMigration = (env: Readonly<Record<string, string>>, root?: string): string =>
  runCommand(["migration", "create", "--algorithm", "sha256"], env, root);
