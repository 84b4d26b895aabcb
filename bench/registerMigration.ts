import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Registers an import of SHA-256 hashes in the embedded store of a directory, beside a service too; its id. */
export const registerMigration = (dataDir: string): string =>
  execFileSync(process.execPath, ["src/main.ts", "migration", "create", "--algorithm", "sha256"], {
    cwd: join(import.meta.dirname, ".."),
    env: { PATH: process.env.PATH, DATA_DIR: dataDir },
    encoding: "utf8",
  }).trim();
