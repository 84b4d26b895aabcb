import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { transportOf } from "../../../http/transport.ts";
import { isKnownTag } from "../isKnownTag.ts";

/** Answers GET and HEAD of the description; false where this installation has none. */
export type AnswerDescription = (req: IncomingMessage, res: ServerResponse) => boolean;

export interface InterfaceDescriptionOptions {
  /** `docs/openapi.json` of this installation. */
  readonly file: string;
  /** Origin of `PUBLIC_URL`; undefined: each caller is told the address that they asked. */
  readonly publicUrl: string | undefined;
  /** Whether the other end of a connection is a trusted proxy. */
  readonly isProxy: (remoteIp: string | undefined) => boolean;
}

/** All of the document but its end, which names the service's own address. */
interface Beginning {
  readonly text: Buffer;
  readonly digest: string;
}

const read = (file: string): Beginning | undefined => {
  if (!existsSync(file)) return undefined;
  const { servers: _, ...document } = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  const text = JSON.stringify(document).slice(0, -1);
  return { text: Buffer.from(text), digest: hash("sha256", text) };
};

/**
 * `GET /openapi.json` (console §1): the description of `/v2` in OpenAPI, with the service's own address among its `servers`.
 * Public, as it holds no secret. Read when it is first asked for. Clients may keep it and ask by its ETag whether it is still the same.
 */
export const createInterfaceDescription = ({ file, publicUrl, isProxy }: InterfaceDescriptionOptions): AnswerDescription => {
  let beginning: Beginning | undefined;

  const ownAddress = (req: IncomingMessage): string => {
    if (publicUrl !== undefined) return publicUrl;
    const { scheme, host } = transportOf(req, isProxy);
    return host === undefined ? "/" : `${scheme}://${host}`;
  };

  return (req, res) => {
    beginning ??= read(file);
    if (beginning === undefined) return false;
    const end = Buffer.from(`,"servers":${JSON.stringify([{ url: ownAddress(req) }])}}\n`);
    const etag = `"${hash("sha256", `${beginning.digest}${end}`, "base64url").slice(0, 22)}"`;
    const kept = ["ETag", etag, "Cache-Control", "no-cache"];
    if (isKnownTag(etag, req.headers["if-none-match"])) {
      res.writeHead(304, kept);
      res.end();
    } else {
      const length = `${beginning.text.length + end.length}`;
      const headers = ["Content-Type", "application/json", "Content-Length", length, "X-Content-Type-Options", "nosniff", ...kept];
      res.writeHead(200, headers);
      if (req.method !== "HEAD") for (const piece of [beginning.text, end]) res.write(piece);
      res.end();
    }
    return true;
  };
};
