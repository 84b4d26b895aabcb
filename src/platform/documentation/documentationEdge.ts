import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "../http/handlers.ts";
import { headerText } from "../http/headerFields.ts";
import { isGone } from "../http/http2Stream.ts";
import { securityHeaders } from "../http/securityHeaders.ts";
import { inAcceptedForm, lineAnswer, type WholeAnswer } from "../http/staticFiles.ts";
import { transportOf } from "../http/transport.ts";
import { send } from "../rpc/edges/connect/rpcAnswer.ts";
import type { EdgeObserver } from "../rpc/edges/edgeObserver.ts";
import { isKnownTag } from "../rpc/edges/isKnownTag.ts";
import { type DocumentationFile, type DocumentationFiles, openDocumentationFiles } from "./documentationFiles.ts";

export interface DocumentationEdgeOptions {
  /** `docs/dist` of this version. It is listed by the first request, so that a start does not wait for it; again after a failure. */
  readonly directory: string;
  /** Whether the other end of a connection is a trusted proxy. */
  readonly isProxy: (remoteIp: string | undefined) => boolean;
  readonly observer: Pick<EdgeObserver, "fault">;
}

const prefix = "/docs";

/** Replaces the console's policy: pages have no scripts, except for the one that searches. */
const policyWith = (...scripts: readonly string[]): string =>
  [
    ...["default-src 'none'", ...scripts, "style-src 'self'", "img-src 'self'"],
    ...["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
  ].join("; ");
const policy = policyWith();
const searchPolicy = policyWith("script-src 'self'", "connect-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'");

/** Whether a request is for the documentation: `/docs` and everything below it. */
export const isDocumentationRequest = ({ url = "" }: IncomingMessage): boolean => url.startsWith(prefix) && /^\/docs(?:[/?]|$)/.test(url);

const fileAnswer = (status: 200 | 404, file: DocumentationFile, { headers }: IncomingMessage): WholeAnswer => {
  const kept = {
    etag: file.etag,
    "cache-control": file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
  };
  if (status === 200 && isKnownTag(file.etag, headerText(headers["if-none-match"])))
    return { status: 304, headers: kept, body: Buffer.alloc(0) };
  const { body, headers: form } = inAcceptedForm(file, headerText(headers["accept-encoding"]));
  return { status, headers: { ...form, ...kept, "content-length": body.length }, body };
};

/** Pages that moved: old path to new path. */
const movedPages: ReadonlyMap<string, string> = new Map([["configuration", "reference/settings"]]);

/** The address of a page that moved, or whose path is written as in the repository: `x.md`, `x/README.md` or `x/` for `x`. */
const servedPathOf = (path: string): string => {
  const served = path
    .replace(/\/$/, "")
    .replace(/\.md$/, "")
    .replace(/(^|\/)README$/, "");
  return movedPages.get(served) ?? served;
};

/**
 * The documentation on `/docs` (console §1): rendered files without credentials, which anybody may read. A browser asks again
 * for a page that it has, and gets it only when it changed; files with their hash in the address never change.
 */
export const createDocumentationEdge = ({ directory, isProxy, observer }: DocumentationEdgeOptions): RequestHandler => {
  let opened: Promise<DocumentationFiles | undefined> | undefined;
  const openFiles = (): Promise<DocumentationFiles | undefined> => {
    opened ??= openDocumentationFiles(directory).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };

  const answerFor = async (req: IncomingMessage): Promise<WholeAnswer> => {
    const files = await openFiles();
    if (files === undefined)
      return lineAnswer(404, "The documentation was not built: docs/dist/index.html is missing in this installation.");
    const [address = "", parameters = ""] = (req.url ?? "").split("?", 2);
    if (address === prefix && new URLSearchParams(parameters).get("q")?.trim()) {
      const { headers, ...answer } = fileAnswer(200, await files.searchPage(), req);
      return { ...answer, headers: { ...headers, "content-security-policy": searchPolicy } };
    }
    const path = address.slice(prefix.length + 1);
    const file = await files.find(path);
    if (file !== undefined) return fileAnswer(200, file, req);
    const served = servedPathOf(path);
    if (served === path || (await files.find(served)) === undefined) return fileAnswer(404, await files.notFoundPage(), req);
    const location = served === "" ? prefix : `${prefix}/${served}`;
    return lineAnswer(308, `Moved to ${location}`, { location });
  };

  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const isRead = req.method === "GET" || req.method === "HEAD";
    const { status, headers, body } = isRead
      ? await answerFor(req)
      : lineAnswer(405, `This address accepts GET only, not ${req.method}.`, { allow: "GET, HEAD" });
    if (isGone(res)) return;
    const security = { ...securityHeaders(transportOf(req, isProxy)), "content-security-policy": policy };
    send(res, { status, headers: { ...security, ...headers }, body: req.method === "HEAD" ? Buffer.alloc(0) : body }, false);
  };

  return (req, res) => {
    answer(req, res).catch((fault: unknown) => {
      if (!isGone(res)) observer.fault("none", fault);
      res.destroy();
    });
  };
};
