import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildConsole } from "./build.ts";

/** Fails unless ui/dist is what its sources make: every file but the compressed forms, byte for byte (console §1). */
const committed = join(import.meta.dirname, "dist");

const filesOf = (directory: string): Map<string, Buffer> =>
  new Map(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(br|gz)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [file.slice(directory.length + 1), readFileSync(file)]),
  );

const fresh = mkdtempSync(join(tmpdir(), "latchkey-ui-"));
try {
  await buildConsole(fresh);
  const [wanted, found] = [filesOf(fresh), filesOf(committed)];
  const names = [...new Set([...wanted.keys(), ...found.keys()])].sort();
  const different = names.filter((name) => !wanted.get(name)?.equals(found.get(name) ?? Buffer.alloc(0)));
  if (different.length > 0) {
    console.error(`ui/dist is out of date: npm run ui:build\n${different.join("\n")}`);
    process.exitCode = 1;
  }
} finally {
  rmSync(fresh, { recursive: true });
}
