import { createServer, type Server, type ServerOptions } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { plainAddress } from "../../domain/ipAllowlist.ts";
import { secureContextOptions, type TlsMaterial } from "../../tls/tlsMaterial.ts";
import { networkOf } from "../pipeline/clientAddress.ts";
import type { RequestHandler } from "./handlers.ts";
import * as limits from "./limits.ts";
import type { Connection } from "./malformedListener.ts";
import type { Pace } from "./pace.ts";

/** The HTTP/1.1 half of the listener, and the server that listens. */
export interface Http1Side {
  readonly server: Server | SecureServer;
  /** Lets HTTP/1.1 have a connection that was accepted and looked at. */
  readonly serve: (socket: Socket) => void;
}

const options: ServerOptions = {
  maxHeaderSize: limits.maxHeaderBytes,
  headersTimeout: limits.headersTimeout,
  requestTimeout: limits.requestTimeout,
  keepAliveTimeout: limits.keepAliveTimeout,
  connectionsCheckingInterval: 1_000,
  keepAlive: true,
  keepAliveInitialDelay: limits.probeDelay,
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

/**
 * node's HTTP/1.1 server, speaking TLS when it has material for that, with the step from an accepted connection to its
 * protocol taken out: `accepted` gets each connection (after its TLS handshake, which ends those of clients that need a
 * certificate and have none that is trusted) and decides who serves it. Being the server that listens, its timeouts and its
 * closing of idle connections hold.
 */
export const createHttp1Side = (
  tls: TlsMaterial | undefined,
  handler: RequestHandler,
  pace: Pace,
  accepted: (socket: Socket) => void,
): Http1Side => {
  const asksClients = tls?.clientCa !== undefined;
  const server = tls
    ? createSecureServer({
        ...options,
        ...secureContextOptions(tls),
        requestCert: asksClients,
        rejectUnauthorized: asksClients,
        ALPNProtocols: ["h2", "http/1.1"],
        handshakeTimeout: limits.handshakeTimeout,
      })
    : createServer(options);
  server.maxHeadersCount = limits.maxHeaders;
  server.timeout = limits.inactivityTimeout;
  // A client may close its sending side after its request and still gets the answer.
  Object.assign(server, { httpAllowHalfOpen: true });

  const handle = inTurns(handler, pace);
  server.on("request", handle).on("checkContinue", handle).on("checkExpectation", handle);

  const established = tls ? "secureConnection" : "connection";
  const [serve, ...others] = server.listeners(established);
  if (serve === undefined || others.length > 0) throw new Error(`this version of Node has not one listener of "${established}"`);
  server.removeAllListeners(established);
  server.on(established, accepted);
  return {
    server,
    serve: (socket) => {
      if (tls) neverPause(socket);
      serve.call(server, socket);
    },
  };
};
