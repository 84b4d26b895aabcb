import { join } from "node:path";
import { version } from "../../../src/platform/config/version.ts";
import { updateFolder } from "../updateFolder.ts";
import { renderSite } from "./renderSite.ts";

/** Renders `docs/` into `docs/dist`, which the service serves. With `--check` it writes nothing, and fails when `docs/dist` is out of date. */
const docs = join(import.meta.dirname, "../..");

const isCheck = process.argv.includes("--check");
const outdated = updateFolder(join(docs, "dist"), await renderSite({ directory: docs, version }), isCheck);
if (isCheck && outdated.length > 0) {
  console.error(`docs/dist is out of date: npm run docs:build\n${outdated.join("\n")}`);
  process.exitCode = 1;
}
