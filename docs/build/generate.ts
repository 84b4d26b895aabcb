import { join } from "node:path";
import { cataloguePages } from "./cataloguePages.ts";
import { errorPages } from "./errorPages.ts";
import { referencePages } from "./referencePages.ts";
import { updateFolder } from "./updateFolder.ts";

/**
 * Makes `docs/reference` and `docs/errors` from the interface and the tables of the sources. With `--check` it writes nothing, and
 * fails when they are not what it would make.
 */
const docs = join(import.meta.dirname, "..");

const made: readonly (readonly [folder: string, pages: ReadonlyMap<string, string>])[] = [
  ["reference", new Map([...referencePages(), ...(await cataloguePages())])],
  ["errors", errorPages()],
];

const isCheck = process.argv.includes("--check");
const outdated = made.flatMap(([name, pages]) => updateFolder(join(docs, name), pages, isCheck).map((path) => `docs/${name}/${path}`));
if (isCheck && outdated.length > 0) {
  for (const file of outdated) console.error(`out of date: ${file}`);
  console.error("npm run generate makes docs/reference and docs/errors again");
  process.exitCode = 1;
}
