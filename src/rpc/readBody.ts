import type { IncomingMessage, ServerResponse } from "node:http";
import { ServiceError } from "../domain/errors.ts";
import { isGone } from "./http2Stream.ts";
import { requestTimeout } from "./limits.ts";

/** Gets the body, or why there is none. Called once, not necessarily later. */
export type BodyReader = (body: Buffer | ServiceError) => void;

export const bodyTooLarge = (limit: number): ServiceError =>
  new ServiceError("request_body_too_large", `The request body exceeds the limit of ${limit} bytes.`);

/**
 * Reads a request body of at most `limit` bytes (protocol §3). More than that, declared or sent, is
 * `request_body_too_large`; a body that breaks off is `request_body_unreadable`, one that is not there after 60 s
 * `request_timeout` (on HTTP/1.1 the server sees to that). A client that waits for `100 Continue` gets it. `overhead`:
 * bytes that do not count.
 */
export const readBody = (req: IncomingMessage, res: ServerResponse, limit: number, done: BodyReader, overhead = 0): void => {
  const { headers } = req;
  const declared = headers["content-length"];
  const length = declared === undefined ? -1 : Number(declared);
  if (length > limit + overhead) {
    done(bodyTooLarge(limit));
    return;
  }
  if (headers.expect !== undefined && !isGone(res)) res.writeContinue();

  let chunks: Buffer[] | undefined;
  let size = 0;
  let settled = false;
  let timer: NodeJS.Timeout | undefined;
  const settle = (result: Buffer | ServiceError) => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    done(result);
  };
  if (req.httpVersionMajor > 1) {
    const late = () => settle(new ServiceError("request_timeout", `The request was not complete within ${requestTimeout / 1000} seconds.`));
    timer = setTimeout(late, requestTimeout).unref();
  }
  req.on("data", (chunk: Buffer) => {
    if (settled) return;
    size += chunk.length;
    if (size > limit + overhead) settle(bodyTooLarge(limit));
    // All of it in one piece, as nearly always: no need to wait for the end.
    else if (size === length && chunks === undefined) settle(chunk);
    else if (chunks === undefined) chunks = [chunk];
    else chunks.push(chunk);
  });
  req.on("end", () => settle(chunks === undefined ? Buffer.alloc(0) : Buffer.concat(chunks, size)));
  req.on("close", () => {
    if (!settled) settle(new ServiceError("request_body_unreadable", "The request body broke off."));
  });
};
