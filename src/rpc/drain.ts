import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { constants } from "node:http2";
import { drainTimeout, keptRemainder, maxDrainBytes } from "./limits.ts";

const http2Stream = (req: IncomingMessage) => (req as Partial<Pick<Http2ServerRequest, "stream">>).stream;

/** True when the request has a body of which much, or an unknown amount, may still come. */
export const hasRemainder = (req: IncomingMessage): boolean => {
  if (req.complete) return false;
  const stream = http2Stream(req);
  if (stream) return !stream.endAfterHeaders;
  const declared = req.headers["content-length"];
  return declared === undefined ? req.headers["transfer-encoding"] !== undefined : Number(declared) > keptRemainder;
};

/** Swallows the rest of a request body: all of it, or 64 MiB, or what comes in 10 s. */
const swallow = (req: IncomingMessage, done: () => void): void => {
  let size = 0;
  const stop = () => {
    clearTimeout(timer);
    req.off("data", count).off("end", stop).off("close", stop);
    done();
  };
  const count = (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxDrainBytes) stop();
  };
  const timer = setTimeout(stop, drainTimeout).unref();
  req.on("data", count).on("end", stop).on("close", stop);
  req.resume();
};

/**
 * Ends an answer whose head was written with a Content-Length while the request's body is still coming. The client
 * gets the whole answer at once; its connection is not reset under it, because the rest of the body is swallowed
 * within bounds first. To be used when `hasRemainder`; an HTTP/1.1 answer must say `Connection: close`.
 */
export const endEarly = (req: IncomingMessage, res: ServerResponse, body: string | Uint8Array): void => {
  const stream = http2Stream(req);
  if (stream) {
    res.end(body);
    swallow(req, () => stream.close(constants.NGHTTP2_NO_ERROR));
  } else {
    // The client has all that Content-Length promised; ending the response would close the connection.
    res.write(body);
    swallow(req, () => res.end());
  }
};
