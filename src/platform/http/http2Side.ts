import {
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { plainAddress } from "../base/ipAllowlist.ts";
import type { CallerPath } from "../fairness/fairShares.ts";
import { networkOf } from "./clientAddress.ts";
import type { ConnectionGuard, ConnectionGuards, Guarded } from "./connectionGuard.ts";
import { closeSession, destroySession, destroyUnlessAlive, retireWithNextCall } from "./endSession.ts";
import type { RequestHandler, StreamHandler } from "./handlers.ts";
import { headerText } from "./headerFields.ts";
import { isGone } from "./http2Stream.ts";
import * as limits from "./limits.ts";
import type { Pace } from "./pace.ts";

/** The HTTP/2 half of the listener: it is handed connections and never listens itself. */
export interface Http2Side {
  /** Takes a connection over: cleartext with prior knowledge, or TLS that agreed on `h2`. */
  readonly serve: (socket: Socket) => void;
  /**
   * Asks the client of every connection to leave, also of those that still come; streams that are open may finish.
   * @param linger how long its next call is awaited before, in milliseconds.
   */
  readonly goAway: (linger: number) => void;
}

const ignore = (): void => undefined;

type StreamListener = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]) => void;

const createHttp2Server = (): Http2Server =>
  createServer({
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
      initialWindowSize: limits.streamWindow,
      enablePush: false,
    },
    maxHeaderListPairs: limits.maxHeaders,
    maxSessionMemory: limits.maxSessionMegabytes,
    maxSessionInvalidFrames: limits.maxInvalidFrames,
    maxSessionRejectedStreams: limits.maxRejectedStreams,
    streamResetBurst: limits.streamResetBurst,
    streamResetRate: limits.streamResetRate,
  });

/**
 * Drops the listeners of a stream that has ended, through which it would keep its call. Node has a session's streams in a Map: a table
 * of it that V8 has replaced keeps the streams that were in it until the old generation is collected, and so every collection of the
 * young one had a fifth of everything to copy.
 */
function forget(this: ServerHttp2Stream): void {
  this.removeAllListeners();
  this.on("error", ignore);
}

/**
 * Lets go of streams as soon as they have served. One that was reset in the same bytes that opened it, the first of its
 * connection, is closed before anybody saw it, and node would keep it, and with it the connection, for ever. And what
 * nobody read of a request is swallowed once its answer is out, for node destroys no stream with input left.
 */
const tidy = (stream: ServerHttp2Stream): void => {
  if (stream.closed) stream.destroy();
  else stream.once("finish", () => stream.resume()).on("close", forget);
};

/** An answer that went out as a whole. One that its client took back before that was given to nobody, whatever the code. */
const isAnswered = ({ rstCode, headersSent, writableFinished }: ServerHttp2Stream): boolean =>
  rstCode === constants.NGHTTP2_NO_ERROR && headersSent && writableFinished;

type GuardedSession = ServerHttp2Session & Guarded;

/** Counts a stream until it ends; false when it is refused. */
const admit = (
  session: GuardedSession,
  guard: ConnectionGuard,
  stream: ServerHttp2Stream,
  rawHeaders: readonly string[],
  forwardedFor: string | undefined,
): boolean => {
  const arrival = guard.arrive(rawHeaders, forwardedFor);
  const ended = arrival === "yes" ? guard.open() : undefined;
  if (ended === undefined) {
    if (arrival === "gone") destroySession(session);
    else {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      if (!guard.refuse(false)) closeSession(session);
    }
    return false;
  }
  const end = () => {
    if (!ended(session.closed || session.destroyed ? "left" : isAnswered(stream) ? "answered" : "reset")) closeSession(session);
  };
  if (stream.destroyed) end();
  else stream.once("close", end);
  return true;
};

/** A request that was taken back before it could be looked at is not looked at. */
const unlessGone =
  (handler: RequestHandler): RequestHandler =>
  (req, res) => {
    if (!isGone(res)) handler(req, res);
  };

export interface Http2SideOptions {
  /** Sees every stream first, and may take it instead of the handler. */
  readonly streams?: StreamHandler | undefined;
  /** Makes what bounds each connection; left out, only node's own bounds hold. */
  readonly guards?: ConnectionGuards | undefined;
  /** How long a connection lasts, in milliseconds; undefined = for ever. */
  readonly lifetime?: () => number | undefined;
  /** Silence after which a client is asked to go, in milliseconds; 5 minutes when left out. */
  readonly silentTimeout?: number | undefined;
}

/** @param pace how many streams begin in one turn. */
export const createHttp2Side = (
  handler: RequestHandler,
  pace: Pace,
  { streams = () => false, guards, lifetime, silentTimeout = limits.silentSessionTimeout }: Http2SideOptions,
): Http2Side => {
  const sessions = new Set<ServerHttp2Session>();
  let connections = 0;
  /** How long next calls are awaited; undefined = nobody has to leave. */
  let leaving: number | undefined;
  const server = createHttp2Server();
  // The compatibility API has the shape of HTTP/1.1 requests and responses, which node's types do not know.
  const handle = unlessGone(handler) as unknown as Parameters<typeof server.on<"request">>[1];
  server.on("request", handle).on("checkContinue", handle).on("checkExpectation", handle);
  // The listener of the compatibility API, which makes requests of streams.
  const [makeRequest, ...others] = server.listeners("stream") as StreamListener[];
  if (makeRequest === undefined || others.length > 0) throw new Error('this version of Node has not one listener of "stream"');
  server.off("stream", makeRequest);
  const begin: StreamListener = (stream, headers, flags, rawHeaders) => {
    if (stream.destroyed || !streams({ stream, headers, rawHeaders })) makeRequest.call(server, stream, headers, flags, rawHeaders);
  };
  const take = (session: GuardedSession, path: CallerPath, ...[stream, headers, flags, rawHeaders]: Parameters<StreamListener>): void => {
    // Whoever takes it listens to its errors, but until then, while it waits or when it is refused, nobody would.
    stream.on("error", ignore);
    tidy(stream);
    const { guard } = session;
    if (guard && !admit(session, guard, stream, rawHeaders, headerText(headers["x-forwarded-for"]))) return;
    if (pace.take()) {
      begin(stream, headers, flags, rawHeaders);
      return;
    }
    pace.later(path, () => {
      if (!stream.closed && !stream.destroyed) begin(stream, headers, flags, rawHeaders);
    });
  };
  server.on("session", (session: GuardedSession) => {
    sessions.add(session);
    const path = [networkOf(plainAddress(session.socket.remoteAddress ?? "")), String(connections++)];
    if (guards) session.guard = guards.guard(session.socket.remoteAddress);
    // Not by the server's event: a stream that was taken back with the first bytes does not know its session any more.
    session.on("stream", ((...args) => take(session, path, ...args)) as StreamListener as Parameters<typeof session.on<"stream">>[1]);
    session.setTimeout(silentTimeout);
    session.on("timeout", () => {
      // The client was asked to go, or said that it would, and has been silent since.
      if (session.closed) return session.destroy();
      // Open streams, such as a quiet watch, continue for another while.
      session.close();
      session.setTimeout(silentTimeout);
    });
    session.on("goaway", () => {
      session.setTimeout(Math.min(silentTimeout, limits.leavingTimeout));
      destroyUnlessAlive(session);
    });
    const lasts = lifetime?.();
    const retiring = lasts === undefined ? undefined : setTimeout(() => retireWithNextCall(session, limits.retiringTime), lasts).unref();
    session.once("close", () => {
      clearTimeout(retiring);
      sessions.delete(session);
      session.guard?.close();
    });
    if (leaving !== undefined) retireWithNextCall(session, leaving);
  });
  return {
    serve: (socket) => {
      // The acceptor lets connections stay half open; HTTP/2 has no use for one.
      socket.allowHalfOpen = false;
      server.emit("connection", socket);
    },
    goAway: (linger) => {
      leaving = linger;
      for (const session of sessions) retireWithNextCall(session, linger);
    },
  };
};
