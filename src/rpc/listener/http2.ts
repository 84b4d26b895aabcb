import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import * as limits from "../limits.ts";
import type { RequestHandler } from "../listener.ts";

/** The HTTP/2 half of the listener: it is handed connections and never listens itself. */
export interface Http2Side {
  /** Takes a connection over: cleartext with prior knowledge, or TLS that agreed on `h2`. */
  readonly serve: (socket: Socket) => void;
  /** Sends GOAWAY on every connection, also on those that still come; streams that are open may finish. */
  readonly goAway: () => void;
}

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

export const createHttp2Side = (handler: RequestHandler): Http2Side => {
  const sessions = new Set<ServerHttp2Session>();
  let leaving = false;
  const server = createHttp2Server();
  // The compatibility API has the shape of HTTP/1.1 requests and responses, which node's types do not know.
  const handle = handler as unknown as Parameters<typeof server.on<"request">>[1];
  server.on("request", handle).on("checkContinue", handle).on("checkExpectation", handle);
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    if (leaving) session.close();
  });
  server.setTimeout(limits.sessionIdleTimeout);
  server.on("timeout", (session: ServerHttp2Session) => session.close());
  return {
    serve: (socket) => {
      // The listening server lets connections stay half open; HTTP/2 has no use for one.
      socket.allowHalfOpen = false;
      server.emit("connection", socket);
    },
    goAway: () => {
      leaving = true;
      for (const session of sessions) session.close();
    },
  };
};
