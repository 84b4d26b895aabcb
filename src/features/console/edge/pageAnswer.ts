import type { IncomingMessage } from "node:http";
import { inAcceptedForm, lineAnswer, type StaticFiles, type WholeAnswer } from "../../../platform/http/staticFiles.ts";

const assetPrefix = "/ui/a/";

/**
 * Below `/ui/a/` are the files of the page under names that have their hashes; every other path is the page itself, which
 * looks at the path (console §1).
 *
 * @param files undefined where the page was not built.
 * @param path without the query.
 */
export const pageAnswer = (files: StaticFiles | undefined, { method, headers }: IncomingMessage, path: string): WholeAnswer => {
  if (method !== "GET" && method !== "HEAD")
    return lineAnswer(405, `This address accepts GET only, not ${method}.`, { allow: "GET, HEAD" });
  if (files === undefined)
    return lineAnswer(404, "The page of the console was not built: ui/dist/index.html is missing in this installation.");
  const isAsset = path.startsWith(assetPrefix);
  const file = isAsset ? files.assets.get(path.slice(assetPrefix.length)) : files.index;
  if (file === undefined) return lineAnswer(404, "There is no such file.");
  const { body, headers: form } = inAcceptedForm(file, String(headers["accept-encoding"] ?? ""));
  const kept = isAsset ? "public, max-age=31536000, immutable" : "no-cache";
  return { status: 200, headers: { ...form, "cache-control": kept, "content-length": body.length }, body };
};
