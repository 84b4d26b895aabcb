import { writeFileSync } from "node:fs";
import { openapiDocument } from "./openapiDocument.ts";

/** Writes the description of `/v2` to the file that its argument names, or to `docs/openapi.json`. */
const [, , file = "docs/openapi.json"] = process.argv;
writeFileSync(file, `${JSON.stringify(openapiDocument(), null, 2)}\n`);
