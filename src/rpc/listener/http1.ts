import { createServer, type Server, type ServerOptions } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import * as limits from "../limits.ts";
import type { RequestHandler } from "../listener.ts";
import { type Certificate, secureContextOptions } from "../tls.ts";
import type { Connection } from "./malformed.ts";

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
 * node's HTTP/1.1 server, speaking TLS when it has a certificate, with the step from an accepted connection to its
 * protocol taken out: `accepted` gets each connection (after its TLS handshake) and decides who serves it. Being the
 * server that listens, its timeouts and its closing of idle connections hold.
 */
export const createHttp1Side = (
  certificate: Certificate | undefined,
  handler: RequestHandler,
  accepted: (socket: Socket) => void,
): Http1Side => {
  const server = certificate
    ? createSecureServer({
        ...options,
        ...secureContextOptions(certificate),
        ALPNProtocols: ["h2", "http/1.1"],
        handshakeTimeout: limits.handshakeTimeout,
      })
    : createServer(options);
  server.maxHeadersCount = limits.maxHeaders;
  server.timeout = limits.inactivityTimeout;
  // A client may close its sending side after its request and still gets the answer.
  Object.assign(server, { httpAllowHalfOpen: true });

  const handle: RequestHandler = (req, res) => {
    (req.socket as Connection).latest = res;
    handler(req, res);
  };
  server.on("request", handle).on("checkContinue", handle).on("checkExpectation", handle);

  const established = certificate ? "secureConnection" : "connection";
  const [serve, ...others] = server.listeners(established);
  if (serve === undefined || others.length > 0) throw new Error(`this version of Node has not one listener of "${established}"`);
  server.removeAllListeners(established);
  server.on(established, accepted);
  return { server, serve: (socket) => serve.call(server, socket) };
};
