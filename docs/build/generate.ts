import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cataloguePages } from "./cataloguePages.ts";
import { errorPages } from "./errorPages.ts";
import { referencePages } from "./referencePages.ts";

/**
 * Makes `docs/reference` and `docs/errors` from the interface and the tables of the sources. With `--check` it writes nothing, and
 * fails when they are not what it would make.
 */
const docs = join(import.meta.dirname, "..");

const made: readonly (readonly [folder: string, pages: ReadonlyMap<string, string>])[] = [
  ["reference", new Map([...referencePages(), ...(await cataloguePages())])],
  ["errors", errorPages()],
];

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));

const isCurrent = (file: string, text: string): boolean => {
  try {
    return readFileSync(file, "utf8") === text;
  } catch {
    return false;
  }
};

const outdated = made.flatMap(([name, pages]) => {
  const folder = join(docs, name);
  mkdirSync(folder, { recursive: true });
  const stale = filesOf(folder).filter((file) => !pages.has(file));
  return [...[...pages].filter(([file, text]) => !isCurrent(join(folder, file), text)).map(([file]) => file), ...stale].map((file) => ({
    file: join(folder, file),
    text: pages.get(file),
  }));
});

if (process.argv.includes("--check")) {
  for (const { file } of outdated) console.error(`out of date: ${file.slice(docs.length - "docs".length)}`);
  if (outdated.length > 0) {
    console.error("npm run generate makes docs/reference and docs/errors again");
    process.exitCode = 1;
  }
} else {
  for (const { file, text } of outdated) {
    if (text === undefined) {
      rmSync(file);
      continue;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
