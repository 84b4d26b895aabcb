import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { ServiceError } from "../domain/errors.ts";
import { isGone } from "./http2Stream.ts";
import { requestTimeout } from "./limits.ts";

/** Gets the body, or why there is none. Called once, not necessarily later. */
export type BodyReader = (body: Buffer | ServiceError) => void;

export const bodyTooLarge = (limit: number): ServiceError =>
  new ServiceError("request_body_too_large", `The request body exceeds the limit of ${limit} bytes.`);

export interface BodyBounds {
  /** What `Content-Length` says. */
  readonly declared: string | undefined;
  /** Bytes. */
  readonly limit: number;
  /** Bytes that do not count. */
  readonly overhead: number;
  /** The server does not see to it that the body is there in time. */
  readonly timed: boolean;
  /** The other end has left: nothing comes any more, not even an event that says so. */
  readonly isGone: boolean;
}

const brokenOff = (): ServiceError => new ServiceError("request_body_unreadable", "The request body broke off.");

/**
 * Collects a request body within its bounds (protocol §3). More than that, declared or sent, is
 * `request_body_too_large`; a body that breaks off is `request_body_unreadable`, one that is not there after 60 s
 * `request_timeout`.
 */
export const collectBody = (source: Readable, { declared, limit, overhead, timed, isGone }: BodyBounds, done: BodyReader): void => {
  if (isGone) {
    done(brokenOff());
    return;
  }
  const length = declared === undefined ? -1 : Number(declared);
  if (length > limit + overhead) {
    done(bodyTooLarge(limit));
    return;
  }
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
  if (timed) {
    const late = () => settle(new ServiceError("request_timeout", `The request was not complete within ${requestTimeout / 1000} seconds.`));
    timer = setTimeout(late, requestTimeout).unref();
  }
  source.on("data", (chunk: Buffer) => {
    if (settled) return;
    size += chunk.length;
    if (size > limit + overhead) settle(bodyTooLarge(limit));
    // All of it in one piece, as nearly always: no need to wait for the end.
    else if (size === length && chunks === undefined) settle(chunk);
    else if (chunks === undefined) chunks = [chunk];
    else chunks.push(chunk);
  });
  source.on("end", () => settle(chunks === undefined ? Buffer.alloc(0) : Buffer.concat(chunks, size)));
  source.on("close", () => {
    if (!settled) settle(brokenOff());
  });
};

/**
 * Reads the body of a request in the manner of node:http, where the HTTP/1.1 server sees to the time. A client that
 * waits for `100 Continue` gets it, unless what it declares is too much. `overhead`: bytes that do not count.
 */
export const readBody = (req: IncomingMessage, res: ServerResponse, limit: number, done: BodyReader, overhead = 0): void => {
  const { headers } = req;
  const declared = headers["content-length"];
  const isTooLong = declared !== undefined && Number(declared) > limit + overhead;
  const hasLeft = isGone(res) || req.destroyed;
  if (headers.expect !== undefined && !isTooLong && !hasLeft) res.writeContinue();
  collectBody(req, { declared, limit, overhead, timed: req.httpVersionMajor > 1, isGone: hasLeft }, done);
};
