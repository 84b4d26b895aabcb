import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** Lists the files below a directory, sorted, by their paths in it with `/`. Links are neither listed nor followed, as a recursive `readdir` would. */
export const listFiles = async (directory: string, folder = ""): Promise<readonly string[]> => {
  const entries = await readdir(join(directory, folder), { withFileTypes: true });
  const found = entries.map(async (entry): Promise<readonly string[]> => {
    const path = `${folder}${entry.name}`;
    if (entry.isDirectory()) return listFiles(directory, `${path}/`);
    return entry.isFile() ? [path] : [];
  });
  return (await Promise.all(found)).flat().sort();
};
