import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import type { Readable } from "node:stream";
import type { ConnectionGuard, Guarded } from "./connectionGuard.ts";
import { http2Stream } from "./http2Stream.ts";
import { isFragmented } from "./isFragmented.ts";
import { drainTimeout, keptRemainder, maxDrainBytes, swallowedAtATime } from "./limits.ts";

/** True when the request has a body of which much, or an unknown amount, may still come. */
export const hasRemainder = (req: IncomingMessage): boolean => {
  if (req.complete) return false;
  const stream = http2Stream(req);
  if (stream) return !stream.endAfterHeaders;
  const declared = req.headers["content-length"];
  return declared === undefined ? req.headers["transfer-encoding"] !== undefined : Number(declared) > keptRemainder;
};

/** True for a body that a client cannot have sent as a whole before it sees an answer. */
export const isLong = (headers: IncomingHttpHeaders): boolean => Number(headers["content-length"] ?? 0) > keptRemainder;

/** How a rest was swallowed: all of it, a part, or a part that came in so many small pieces that no more is to be heard. */
type Swallowed = "all" | "part" | "fragments";

/**
 * Swallows the rest of a request body: all of it, or 64 MiB, or what comes in 10 s, or as much as its connection may cost
 * others.
 */
const swallow = (req: Readable, guard: ConnectionGuard | undefined, done: (swallowed: Swallowed) => void): void => {
  let size = 0;
  let pieces = 0;
  let unpaused = 0;
  const stop = (swallowed: Swallowed) => {
    clearTimeout(timer);
    req.off("data", count).off("end", end).off("close", end);
    done(swallowed);
  };
  const end = () => stop("all");
  const count = (chunk: Buffer) => {
    size += chunk.length;
    pieces++;
    if (isFragmented(pieces, size)) {
      stop("fragments");
      return;
    }
    if (size > maxDrainBytes || guard?.swallow(chunk.length) === false) {
      stop("part");
      return;
    }
    unpaused += chunk.length;
    if (unpaused < swallowedAtATime) return;
    unpaused = 0;
    // A socket would else be read 2 MiB at a time.
    req.pause();
    setImmediate(() => req.resume());
  };
  const timer = setTimeout(stop, drainTimeout, "part").unref();
  req.on("data", count).on("end", end).on("close", end);
  req.resume();
};

/** Swallows what still comes of a request whose answer is given, and closes its stream if that is too much. */
export const swallowStream = (stream: ServerHttp2Stream, source: Readable = stream): void =>
  swallow(source, (stream.session as Guarded | undefined)?.guard, (swallowed) => {
    if (swallowed !== "all") stream.close(constants.NGHTTP2_NO_ERROR);
  });

/**
 * Answers a stream whose request is still coming, its end in the same flush as its head. For a client that sees an answer
 * may stop its body; if that makes the body shorter than declared, node resets the stream, and what was not sent by then
 * is lost. Without a body `headers` are all of the answer. `source`: where the request is read.
 */
export const answerStreamEarly = (
  stream: ServerHttp2Stream,
  headers: OutgoingHttpHeaders,
  body?: string | Uint8Array,
  source: Readable = stream,
): void => {
  if (stream.closed || stream.destroyed) return;
  stream.respond(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  swallowStream(stream, source);
};

/**
 * Discards the rest of a small HTTP/1.1 body that is answered unread, so that its connection can be used again. A client that sends it in
 * many small chunks, or too slowly, loses the connection: small chunks cost as much CPU as large ones, and sending them needs no credentials.
 */
export const swallowSmall = (req: IncomingMessage): void => {
  if (req.complete || req.httpVersionMajor > 1) return;
  const { guard } = req.socket as Guarded;
  swallow(req, guard, (swallowed) => {
    if (swallowed === "all") return;
    if (swallowed === "fragments") guard?.offend();
    req.socket.destroy();
  });
};

/**
 * Answers while the request's body is still coming; to be used when `hasRemainder`. The client gets the whole answer at
 * once, and its connection is not reset under it, because the rest of the body is swallowed within bounds first.
 * `headers` have a Content-Length. An HTTP/1.1 client is told not to send another request behind that body.
 */
export const answerEarly = (
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  body: string | Uint8Array,
): void => {
  const stream = http2Stream(req);
  if (stream) answerStreamEarly(stream, { ":status": status, ...headers }, body, req);
  else {
    res.writeHead(status, { ...headers, Connection: "close" });
    // The client has all that Content-Length promised; ending the response would close the connection.
    res.write(body);
    const { guard } = req.socket as Guarded;
    swallow(req, guard, (swallowed) => {
      if (swallowed !== "fragments") res.end();
      else {
        guard?.offend();
        req.destroy();
      }
    });
  }
};
