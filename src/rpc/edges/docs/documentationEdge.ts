import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Documentation, DocumentationFile } from "../../../documentation/openDocumentation.ts";
import type { FairRate } from "../../../domain/fairness/fairRate.ts";
import type { RequestHandler } from "../../http/handlers.ts";
import { headerText } from "../../http/headerFields.ts";
import { isGone } from "../../http/http2Stream.ts";
import { type ClientAddress, networkOf } from "../../pipeline/clientAddress.ts";
import { send } from "../connect/rpcAnswer.ts";
import { securityHeaders } from "../console/securityHeaders.ts";
import { inAcceptedForm } from "../console/staticFiles.ts";
import { transportOf } from "../console/transport.ts";
import type { EdgeObserver } from "../edgeObserver.ts";
import { isKnownTag } from "../isKnownTag.ts";

export interface DocumentationEdgeOptions {
  /** Called at the first request, so that a start does not wait for it; again where it failed. */
  readonly open: () => Promise<Documentation>;
  /** Searches, which strangers may send, by address. */
  readonly searches: FairRate;
  readonly clientAddress: ClientAddress;
  /** Whether the other end of a connection is a trusted proxy. */
  readonly isProxy: (remoteIp: string | undefined) => boolean;
  readonly observer: Pick<EdgeObserver, "fault">;
}

interface Answer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

const prefix = "/docs";

/** Instead of the console's: pages without scripts, which only search in themselves. */
const policy = [
  ...["default-src 'none'", "style-src 'self'", "img-src 'self'"],
  ...["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
].join("; ");

/** Whether a request is for the documentation: `/docs` and everything below it. */
export const isDocumentationRequest = ({ url = "" }: IncomingMessage): boolean => url.startsWith(prefix) && /^\/docs(?:[/?]|$)/.test(url);

const html = "text/html; charset=utf-8";

const page = (status: number, text: string, headers: OutgoingHttpHeaders = {}): Answer => {
  const body = Buffer.from(text);
  return { status, headers: { "content-type": html, "cache-control": "no-store", "content-length": body.length, ...headers }, body };
};

const plain = (status: number, text: string, headers: OutgoingHttpHeaders): Answer =>
  page(status, `${text}\n`, { "content-type": "text/plain; charset=utf-8", ...headers });

/**
 * The documentation on `/docs` (console §1): pages without scripts and credentials, which anybody may read. A page is
 * asked about anew each time and sent only when it is another one; what has its hash in its address never changes.
 */
export const createDocumentationEdge = ({ open, searches, clientAddress, isProxy, observer }: DocumentationEdgeOptions): RequestHandler => {
  let opened: Promise<Documentation> | undefined;
  const documentation = (): Promise<Documentation> => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };

  const fileAnswer = (status: 200 | 404, file: DocumentationFile, { headers }: IncomingMessage): Answer => {
    const kept = {
      etag: file.etag,
      "cache-control": file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    };
    if (status === 200 && isKnownTag(file.etag, headerText(headers["if-none-match"])))
      return { status: 304, headers: kept, body: Buffer.alloc(0) };
    const { body, headers: form } = inAcceptedForm(file, headerText(headers["accept-encoding"]));
    return { status, headers: { ...form, ...kept, "content-length": body.length }, body };
  };

  const searchAnswer = async (req: IncomingMessage, query: string): Promise<Answer> => {
    const site = await documentation();
    const address = clientAddress({ remoteIp: req.socket.remoteAddress, forwardedFor: headerText(req.headers["x-forwarded-for"]) });
    if (searches.spend([networkOf(address)], 1)) return page(200, await site.search(query));
    return page(429, site.notice("Too many searches", "Too many people are searching. Try again in a second."), { "retry-after": "1" });
  };

  const answerFor = async (req: IncomingMessage): Promise<Answer> => {
    const [path = "", parameters = ""] = (req.url ?? "").split("?", 2);
    const query = path === prefix ? new URLSearchParams(parameters).get("q")?.trim() : undefined;
    if (query) return searchAnswer(req, query);
    const site = await documentation();
    const found = await site.find(path.slice(prefix.length + 1));
    if (found === undefined) return fileAnswer(404, await site.notFound(), req);
    if ("file" in found) return fileAnswer(200, found.file, req);
    return plain(308, `Moved to ${found.movedTo}`, { location: found.movedTo });
  };

  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const isRead = req.method === "GET" || req.method === "HEAD";
    const { status, headers, body } = isRead
      ? await answerFor(req)
      : plain(405, `This address accepts GET only, not ${req.method}.`, { allow: "GET, HEAD" });
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
