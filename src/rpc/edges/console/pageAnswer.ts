import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { inAcceptedForm, type StaticFiles } from "./staticFiles.ts";

/** What is answered to a request of the page or one of its files. */
export interface PageAnswer {
  readonly status: number;
  /** The body's length and form among them. */
  readonly headers: OutgoingHttpHeaders;
  /** Also of HEAD, where it is not sent. */
  readonly body: Buffer;
}

const assetPrefix = "/ui/a/";

const text = (status: number, message: string, headers: OutgoingHttpHeaders = {}): PageAnswer => {
  const body = Buffer.from(`${message}\n`);
  const form = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", "content-length": body.length };
  return { status, headers: { ...form, ...headers }, body };
};

/**
 * Below `/ui/a/` are the files of the page under names that have their hashes; every other path is the page itself, which
 * looks at the path (console §1).
 *
 * @param files undefined where the page was not built.
 * @param path without the query.
 */
export const pageAnswer = (files: StaticFiles | undefined, { method, headers }: IncomingMessage, path: string): PageAnswer => {
  if (method !== "GET" && method !== "HEAD") return text(405, `This address accepts GET only, not ${method}.`, { allow: "GET, HEAD" });
  if (files === undefined) return text(404, "The page of the console was not built: ui/dist/index.html is missing in this installation.");
  const isAsset = path.startsWith(assetPrefix);
  const file = isAsset ? files.assets.get(path.slice(assetPrefix.length)) : files.index;
  if (file === undefined) return text(404, "There is no such file.");
  const { body, headers: form } = inAcceptedForm(file, String(headers["accept-encoding"] ?? ""));
  const kept = isAsset ? "public, max-age=31536000, immutable" : "no-cache";
  return { status: 200, headers: { ...form, "cache-control": kept, "content-length": body.length }, body };
};
