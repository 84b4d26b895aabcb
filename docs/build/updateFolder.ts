import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));

const isCurrent = (file: string, content: Buffer): boolean => {
  try {
    return readFileSync(file).equals(content);
  } catch {
    return false;
  }
};

/**
 * Makes a folder of generated files hold exactly `files`, by their paths in it.
 * @param isCheck writes and removes nothing
 * @returns the paths of the files that were missing, different, or not among `files`
 */
export const updateFolder = (folder: string, files: ReadonlyMap<string, string | Buffer>, isCheck: boolean): readonly string[] => {
  mkdirSync(folder, { recursive: true });
  const outdated = [...files].filter(([path, content]) => !isCurrent(join(folder, path), Buffer.from(content))).map(([path]) => path);
  const stale = filesOf(folder).filter((path) => !files.has(path));
  if (!isCheck) {
    for (const path of outdated) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), files.get(path) ?? "");
    }
    for (const path of stale) rmSync(join(folder, path));
  }
  return [...outdated, ...stale];
};
