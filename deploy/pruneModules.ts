/**
 * Removes from `node_modules` in the current directory what no process reads: types, source maps, manuals, tests, and CommonJS where
 * the same is there as ES modules. Licences stay. Run while the image is built; `npm run check:image` loads every module of the result.
 */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const unreadFolders: ReadonlySet<string> = new Set(["benchmarks", "docs", "examples", "skills", "test", "testdata", "tests"]);

const isRead = (name: string): boolean => /\.(?:[cm]?js|json|node|so)$/.test(name) || /^(?:copying|licen[cs]e|notice)\b/i.test(name);

const isUnreadFolder = (path: string): boolean => {
  const name = basename(path);
  return name.startsWith(".") || unreadFolders.has(name) || (name === "cjs" && existsSync(join(dirname(path), "esm")));
};

const prune = (directory: string): void => {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory() && !isUnreadFolder(path)) prune(path);
    else if (entry.isDirectory() || entry.name.startsWith(".") || !isRead(entry.name)) rmSync(path, { recursive: true });
  }
  if (readdirSync(directory).length === 0) rmSync(directory, { recursive: true });
};

prune("node_modules");
