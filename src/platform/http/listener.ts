import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from "node:tls";
import type { Clock } from "../base/clock.ts";
import { ServiceError } from "../base/errors.ts";
import { createId } from "../base/ids.ts";
import type { SubjectName } from "../base/subjectNames.ts";
import { createAcceptor } from "./acceptor.ts";
import type { ConnectionGuards } from "./connectionGuard.ts";
import { detectProtocol } from "./detectProtocol.ts";
import { createErrorBody, type ErrorsBaseUrl } from "./errorBody.ts";
import type { RequestHandler, StreamHandler } from "./handlers.ts";
import { headerText } from "./headerFields.ts";
import { createHttp1Side } from "./http1Side.ts";
import { createHttp2Side } from "./http2Side.ts";
import { ageJitter, barDelay, begunInATurn, handshakeTimeout, stopGrace } from "./limits.ts";
import { type Connection, createMalformedListener } from "./malformedListener.ts";
import { createPace } from "./pace.ts";
import { clientRefusal, handshakeRefusal, type RefusedClient, refusedClient } from "./tls/clientRefusal.ts";
import { replaceMaterial, secureContextOptions, type TlsMaterial } from "./tls/tlsMaterial.ts";

export interface ListenerOptions {
  readonly host: string;
  /** 0 = a free port. */
  readonly port: number;
  /** TLS only when given, else cleartext only. */
  readonly tls?: TlsMaterial | undefined;
  /** Of a client's certificate, where it needs one; left out, its names do not matter. */
  readonly allowedNames?: readonly SubjectName[] | undefined;
  /** Told of a client whose certificate does not do. Its connection ends before anything is read of it. */
  readonly onClientRefused?: (client: RefusedClient) => void;
  readonly handler: RequestHandler;
  /** Sees every HTTP/2 stream first, and may take it instead of `handler`. */
  readonly streams?: StreamHandler;
  /** Makes what bounds each connection, for the sake of the others; left out, each is only bounded by itself. */
  readonly guards?: ConnectionGuards;
  /** For the envelopes that answer what never became a request. */
  readonly errorsBaseUrl: ErrorsBaseUrl;
  /** Headers of those envelopes; none unless told. */
  readonly unreadRequestHeaders?: Readonly<Record<string, string>> | undefined;
  /** How long connections without a call are kept when it stops, in milliseconds; none unless told. */
  readonly linger?: number;
  /** How long connections may last, in milliseconds, give or take a tenth; for ever when left out. */
  readonly maxAge?: number | undefined;
  /** Silence on an HTTP/2 connection after which its client is asked to go, in milliseconds; 5 minutes when left out. */
  readonly silentTimeout?: number | undefined;
  readonly clock: Clock;
  /** Told of what must not happen: a handler that throws, a connection that cannot be accepted. */
  readonly onFault: (error: unknown) => void;
}

export interface Listener {
  /** Address and port that are bound. */
  readonly address: { readonly host: string; readonly port: number };
  /** As `replaceMaterial`: connections that exist go on. */
  readonly setTls: (material: TlsMaterial) => void;
  /**
   * Accepts no more connections and tells those that exist that the next answer is their last (`Connection: close`,
   * GOAWAY). Idle ones are closed after `linger`, so that a request which is on its way is answered, and the others cut when
   * their calls are not done after `graceMs` (default 30 s). Resolves when no connection is left. Later calls wait for the
   * first.
   */
  readonly stop: (graceMs?: number) => Promise<void>;
}

/**
 * Makes TLS connections of accepted ones. A handshake that fails or takes too long ends its connection.
 * @param secured called after the handshake. A client that needs a certificate and has none that is trusted does not get there.
 */
const createHandshakes = (
  tls: TlsMaterial,
  secured: (socket: TLSSocket) => void,
  onClientRefused: ListenerOptions["onClientRefused"],
): TlsServer => {
  const asksClients = tls.clientCa !== undefined;
  const server = createTlsServer(
    {
      ...secureContextOptions(tls),
      requestCert: asksClients,
      rejectUnauthorized: asksClients,
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout,
    },
    secured,
  );
  return server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
    const refusal = asksClients && handshakeRefusal(error, socket);
    if (refusal) onClientRefused?.(refusedClient(refusal, socket));
    socket.destroy();
  });
};

/** How often a stopping listener looks for connections that became idle. */
const idleCheckInterval = 100;

/**
 * Serves HTTP/1.1 and HTTP/2 on one port (DESIGN §1): on cleartext the first bytes of a connection tell which, with
 * TLS its ALPN. Resolves once the port is bound; rejects when it cannot be had.
 */
export const createListener = async (options: ListenerOptions): Promise<Listener> => {
  const { host, port, tls, guards, handler, clock, onFault, linger = 0, maxAge, unreadRequestHeaders, onClientRefused } = options;
  const connections = new Set<Connection>();
  let stopping: Promise<void> | undefined;

  const serveSafely: RequestHandler = (req, res) => {
    try {
      handler(req, res);
    } catch (error) {
      onFault(error);
      res.destroy();
    }
  };
  const errorBody = createErrorBody(options.errorsBaseUrl);

  /** Cheaper than a look at the request, and the last answer of its connection. */
  const refuseHeaders = (req: IncomingMessage, res: ServerResponse): void => {
    const error = new ServiceError("service_unavailable", "Too many large headers. Send smaller ones, or try again shortly.");
    const body = errorBody(error, createId("req", clock.now()));
    const form = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body), Connection: "close" };
    res.writeHead(503, { ...unreadRequestHeaders, ...form });
    res.end(req.method === "HEAD" ? undefined : body);
  };
  const pace = createPace(begunInATurn);
  /** Of one connection; undefined = for ever. */
  const lifetime = (): number | undefined => maxAge && maxAge * (1 + ageJitter * (2 * Math.random() - 1));
  const http2 = createHttp2Side(serveSafely, pace, { ...options, lifetime });

  const track = (socket: Socket): void => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  };
  const establish = (socket: Connection, isHttp2: boolean): void => {
    socket.established = true;
    // Closed at once, it would be back at once, and an accepted connection costs as much as some calls.
    if (guards?.isBarred(socket.remoteAddress, isHttp2 ? "http2" : "http1")) setTimeout(() => socket.destroy(), barDelay).unref();
    else if (isHttp2) http2.serve(socket);
    else {
      const lasts = lifetime();
      socket.leavesAt = lasts === undefined ? undefined : clock.monotonic() + lasts;
      if (guards) socket.guard = guards.guard(socket.remoteAddress);
      http1.serve(socket);
      // Not before the parser has taken the handle: what was read while looking at the protocol comes first.
      process.nextTick(() => socket.resume());
    }
  };
  const http1 = createHttp1Side((req, res) => {
    const { guard, leavesAt, pipelined = 0 } = req.socket as Connection;
    // Not while others wait behind it, which would get no answer.
    const isOld = leavesAt !== undefined && pipelined === 0 && clock.monotonic() >= leavesAt;
    if (stopping || isOld) res.shouldKeepAlive = false;
    const arrival = guard?.arrive(req.rawHeaders, headerText(req.headers["x-forwarded-for"])) ?? "yes";
    if (arrival === "yes") serveSafely(req, res);
    else refuseHeaders(req, res);
  }, pace);
  http1.server.on(
    "clientError",
    createMalformedListener(errorBody, () => createId("req", clock.now()), unreadRequestHeaders),
  );

  const secured = (socket: TLSSocket): void => {
    socket.on("error", () => socket.destroy());
    track(socket);
    const refusal = tls?.clientCa && clientRefusal(socket, options.allowedNames);
    if (refusal) {
      onClientRefused?.(refusedClient(refusal, socket));
      socket.destroy();
    } else establish(socket, socket.alpnProtocol === "h2");
  };
  const handshakes = tls && createHandshakes(tls, secured, onClientRefused);
  const server = createAcceptor(guards?.accept, (socket) => {
    track(socket);
    if (handshakes) handshakes.emit("connection", socket);
    else detectProtocol(socket, handshakeTimeout, (isHttp2) => establish(socket, isHttp2));
  });

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject).on("error", onFault);
      resolve();
    });
  });
  const bound = server.address() as AddressInfo;

  const stop = async (graceMs: number): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    http2.goAway(linger);
    for (const { latest } of connections) if (latest && !latest.headersSent) latest.shouldKeepAlive = false;
    let idle: NodeJS.Timeout | undefined;
    const closeIdle = (): void => {
      http1.server.close();
      for (const socket of connections) if (!tls && !socket.established) socket.destroy();
      idle = setInterval(() => http1.server.closeIdleConnections(), idleCheckInterval);
    };
    const lingering = linger > 0 ? setTimeout(closeIdle, linger) : void closeIdle();
    const cut = setTimeout(() => {
      for (const socket of connections) socket.destroy();
    }, graceMs);
    await closed;
    if (!idle) closeIdle();
    clearTimeout(lingering);
    clearInterval(idle);
    clearTimeout(cut);
  };
  return {
    address: { host: bound.address, port: bound.port },
    setTls: (material) => replaceMaterial(handshakes, tls, material),
    stop: (graceMs = stopGrace) => (stopping ??= stop(graceMs)),
  };
};
