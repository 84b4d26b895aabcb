import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { ServiceError } from "../base/errors.ts";
import type { CallerPath, Share } from "../fairness/fairShares.ts";
import type { Guarded } from "./connectionGuard.ts";
import { atEndOfTurn } from "./endOfTurn.ts";
import { isGone } from "./http2Stream.ts";
import { isFragmented } from "./isFragmented.ts";
import { awaitedRequestBytes, bodyPieceBytes, requestTimeout, smallBodyBytes } from "./limits.ts";

/** Gets the body, or why there is none. Called once, not necessarily later. `share`: what a large body takes until it is given back. */
export type BodyReader = (body: Buffer | ServiceError, share?: Share) => void;

/** Whose body it is. */
export interface BodyOwner {
  readonly path: CallerPath;
  readonly signal: AbortSignal;
  /** Makes room for so many bytes of a body that is awaited, as `Pipeline.holdBody`. */
  readonly hold: (bytes: number, evict: () => void) => Share | undefined;
  /** Counts so many more bytes until the call is answered. Throws `service_unavailable` where there is no room for them. */
  readonly charge: (bytes: number) => void;
}

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
  /** Told when it comes in so many small pieces that it is given up, and its connection or stream with it. */
  readonly onFragmented?: (() => void) | undefined;
  readonly owner: BodyOwner;
}

/** One for all: a client that leaves has its stack taken for every call that it leaves. */
const brokenOff = new ServiceError("request_body_unreadable", "The request body broke off.");

export const noRoom = (): ServiceError =>
  new ServiceError("service_unavailable", "Too many request bodies are on their way. Try again shortly.");

const tooLate = (): ServiceError =>
  new ServiceError("request_timeout", `The request was not complete within ${requestTimeout / 1000} seconds.`);

/** Nearly every body is there in the turn of its headers, and is neither counted nor timed. */
const awaitLater = atEndOfTurn((wait: () => void) => wait());

/**
 * Collects a request body within its bounds (protocol §3). More than that, declared or sent, is
 * `request_body_too_large`; a body that breaks off, or that is given up because it comes in too many small pieces, is `request_body_unreadable`, one that is not there after 60 s
 * `request_timeout`, one for which callers leave no room `service_unavailable`.
 */
export const collectBody = (source: Readable, bounds: BodyBounds, done: BodyReader): void => {
  const { declared, limit, overhead, timed, isGone, onFragmented, owner } = bounds;
  if (isGone) {
    done(brokenOff);
    return;
  }
  const length = declared === undefined ? -1 : Number(declared);
  if (length > limit + overhead) {
    done(bodyTooLarge(limit));
    return;
  }
  let chunks: Buffer[] | undefined;
  let size = 0;
  /** Bytes since it was last paused. */
  let unpaused = 0;
  let settled = false;
  let timer: NodeJS.Timeout | undefined;
  let share: Share | undefined;
  const finish = (result: Buffer | ServiceError) => {
    if (share !== undefined && (result instanceof ServiceError || size <= smallBodyBytes)) {
      share.give();
      share = undefined;
    }
    done(result, share);
  };
  const settle = (result: Buffer | ServiceError | undefined) => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    share?.pin();
    // What is left of it must not stay with the other end.
    source.resume();
    finish(result ?? Buffer.concat(chunks ?? [], size));
  };
  const hold = () => {
    if (settled || share !== undefined) return;
    const crowdedOut = () => settle(noRoom());
    share = owner.hold(awaitedRequestBytes + size, crowdedOut);
    if (share === undefined) crowdedOut();
  };
  awaitLater(() => {
    if (settled) return;
    if (timed) timer = setTimeout(() => settle(tooLate()), requestTimeout).unref();
    hold();
  });
  source.on("data", (chunk: Buffer) => {
    if (settled) return;
    size += chunk.length;
    if (size > limit + overhead) settle(bodyTooLarge(limit));
    // All of it in one piece, as nearly always: no need to wait for the end.
    else if (size === length && chunks === undefined) settle(chunk);
    else {
      if (chunks === undefined) chunks = [chunk];
      else chunks.push(chunk);
      if (isFragmented(chunks.length, size)) {
        onFragmented?.();
        // Every further piece would cost the same again, read or not.
        source.destroy();
        settle(brokenOff);
        return;
      }
      if (share === undefined) {
        if (size > smallBodyBytes) hold();
      } else if (!share.grow(chunk.length + bodyPieceBytes)) settle(noRoom());
      unpaused += chunk.length;
      if (settled || size <= smallBodyBytes || unpaused < smallBodyBytes) return;
      unpaused = 0;
      // A turn of the event loop takes 2 MiB of each socket otherwise.
      source.pause();
      setImmediate(() => !settled && source.resume());
    }
  });
  source.on("end", () => settle(undefined));
  source.on("close", () => {
    if (!settled) settle(brokenOff);
  });
};

/**
 * Reads the body of a request in the manner of node:http, where the HTTP/1.1 server sees to the time. A client that
 * waits for `100 Continue` gets it, unless what it declares is too much. `overhead`: bytes that do not count.
 */
export const readBody = (
  req: IncomingMessage,
  res: ServerResponse,
  limit: number,
  owner: BodyOwner,
  done: BodyReader,
  overhead: number,
): void => {
  const { headers } = req;
  const declared = headers["content-length"];
  const isTooLong = declared !== undefined && Number(declared) > limit + overhead;
  const hasLeft = isGone(res) || req.destroyed;
  if (headers.expect !== undefined && !isTooLong && !hasLeft) res.writeContinue();
  const isHttp2 = req.httpVersionMajor > 1;
  const onFragmented = isHttp2 ? undefined : (req.socket as Guarded).guard?.offend;
  collectBody(req, { declared, limit, overhead, timed: isHttp2, isGone: hasLeft, onFragmented, owner }, done);
};
