import { createServer, type Server, type ServerOptions } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { plainAddress } from "../base/ipAllowlist.ts";
import { networkOf } from "./clientAddress.ts";
import type { RequestHandler } from "./handlers.ts";
import * as limits from "./limits.ts";
import type { Connection } from "./malformedListener.ts";
import type { Pace } from "./pace.ts";

/** The HTTP/1.1 half of the listener: it is handed connections and never listens itself. */
export interface Http1Side {
  /** Reports requests that cannot be read (`clientError`), and closes connections. */
  readonly server: Server;
  /** Takes over a connection: cleartext, or TLS after its handshake. */
  readonly serve: (socket: Socket) => void;
}

const options: ServerOptions = {
  maxHeaderSize: limits.maxHeaderBytes,
  headersTimeout: limits.headersTimeout,
  requestTimeout: limits.requestTimeout,
  keepAliveTimeout: limits.keepAliveTimeout,
  connectionsCheckingInterval: 1_000,
};

/**
 * The requests of one connection one after the other. What a client sends ahead of an answer waits for that, and then for
 * its turn among those of all connections: one packet holds a thousand requests, which node makes of it at once.
 */
const inTurns =
  (handler: RequestHandler, pace: Pace): RequestHandler =>
  (req, res) => {
    const socket = req.socket as Connection;
    const { latest, pipelined = 0 } = socket;
    if (latest === undefined || latest.closed) {
      socket.latest = res;
      handler(req, res);
      return;
    }
    // What follows in the packet that ended it is not looked at.
    if (socket.destroyed) return;
    if (pipelined >= limits.pipelinedRequests) {
      socket.guard?.offend();
      socket.destroy();
      return;
    }
    socket.latest = res;
    socket.pipelined = pipelined + 1;
    const begin = (): void => {
      socket.pipelined = (socket.pipelined ?? 1) - 1;
      if (!socket.destroyed) handler(req, res);
    };
    latest.once("close", () => {
      if (pace.take()) begin();
      else pace.later([networkOf(plainAddress(socket.remoteAddress ?? ""))], begin);
    });
  };

/**
 * Keeps node from pausing its parser while an answer waits to be written, which `inTurns` makes needless: of a packet with
 * two TLS records the second one reaches the paused parser, and is taken for garbage.
 */
const neverPause = (socket: Socket): void => {
  const { _writableState: state } = socket as unknown as { readonly _writableState: { highWaterMark: number } };
  state.highWaterMark = Number.MAX_SAFE_INTEGER;
};

/** Node's HTTP/1.1 server for connections that were accepted elsewhere. Pipelined requests of one connection run one after the other. */
export const createHttp1Side = (handler: RequestHandler, pace: Pace): Http1Side => {
  const server = createServer(options);
  server.maxHeadersCount = limits.maxHeaders;
  server.timeout = limits.inactivityTimeout;
  // A client may close its sending side after its request. A call that waits for the store takes that for leaving; others are answered.
  Object.assign(server, { httpAllowHalfOpen: true });
  const handle = inTurns(handler, pace);
  server.on("request", handle).on("checkContinue", handle).on("checkExpectation", handle);
  // Node starts its timeouts for headers and requests when a server begins to listen, and this one never does.
  server.emit("listening");
  return {
    server,
    serve: (socket) => {
      if (socket instanceof TLSSocket) neverPause(socket);
      server.emit("connection", socket);
    },
  };
};
