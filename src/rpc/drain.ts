import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import type { Readable } from "node:stream";
import { http2Stream } from "./http2Stream.ts";
import { drainTimeout, keptRemainder, maxDrainBytes } from "./limits.ts";

/** True when the request has a body of which much, or an unknown amount, may still come. */
export const hasRemainder = (req: IncomingMessage): boolean => {
  if (req.complete) return false;
  const stream = http2Stream(req);
  if (stream) return !stream.endAfterHeaders;
  const declared = req.headers["content-length"];
  return declared === undefined ? req.headers["transfer-encoding"] !== undefined : Number(declared) > keptRemainder;
};

/** Swallows the rest of a request body: all of it, or 64 MiB, or what comes in 10 s. Then says whether it was all. */
const swallow = (req: Readable, done: (all: boolean) => void): void => {
  let size = 0;
  const stop = (all: boolean) => {
    clearTimeout(timer);
    req.off("data", count).off("end", end).off("close", end);
    done(all);
  };
  const end = () => stop(true);
  const count = (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxDrainBytes) stop(false);
  };
  const timer = setTimeout(stop, drainTimeout, false).unref();
  req.on("data", count).on("end", end).on("close", end);
  req.resume();
};

/** Swallows what still comes of a request whose answer is given, and closes its stream if that is too much. */
export const swallowStream = (stream: ServerHttp2Stream, source: Readable = stream): void =>
  swallow(source, (all) => {
    if (!all) stream.close(constants.NGHTTP2_NO_ERROR);
  });

/** Headers that tell the client not to send another request behind the body that is being swallowed. */
export const earlyHeaders = (req: IncomingMessage): readonly string[] => (req.httpVersionMajor === 1 ? ["Connection", "close"] : []);

/**
 * Ends an answer whose head was written with a Content-Length while the request's body is still coming. The client
 * gets the whole answer at once; its connection is not reset under it, because the rest of the body is swallowed
 * within bounds first. To be used when `hasRemainder`,
 * with `earlyHeaders` in the head.
 */
export const endEarly = (req: IncomingMessage, res: ServerResponse, body: string | Uint8Array): void => {
  const stream = http2Stream(req);
  if (stream) {
    res.end(body);
    swallowStream(stream, req);
  } else {
    // The client has all that Content-Length promised; ending the response would close the connection.
    res.write(body);
    swallow(req, () => res.end());
  }
};
