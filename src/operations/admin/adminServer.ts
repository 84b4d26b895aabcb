import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener, type ServerOptions, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer, isIPv6, type Server as NetServer, type Socket } from "node:net";
import { replaceMaterial, secureContextOptions, type TlsMaterial } from "../../platform/http/tls/tlsMaterial.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import type { AdminAccess } from "./adminAccess.ts";
import { createProfileAnswers, type ProfileAnswersOptions } from "./profileAnswers.ts";

export interface AdminOptions {
  readonly host: string;
  /** 0 = a free port. */
  readonly port: number;
  /** TLS only when given, else HTTP. */
  readonly tls?: TlsMaterial | undefined;
  readonly metrics: Pick<Metrics, "contentType" | "render">;
  /** True unless told: a process that answers lives. */
  readonly isLive?: (() => boolean) | undefined;
  /** True after the start and before draining. A store that is away does not change it (DESIGN §8). */
  readonly isReady: () => boolean;
  /** Who may see all but probes; everybody when left out. */
  readonly access?: AdminAccess;
  /** Left out, there are no profiles. */
  readonly profiles?: Pick<ProfileAnswersOptions, "record" | "workers" | "onTaken" | "mostBytes"> | undefined;
  /** Makes the server that listens and passes each connection on; it may refuse some. All are accepted when left out. */
  readonly createAcceptor?: (serve: (socket: Socket) => void) => NetServer;
}

export interface AdminServer {
  /** Listens; resolves to its URL without a trailing slash. Rejects when the port is taken. */
  readonly start: () => Promise<string>;
  /** As `replaceMaterial`. */
  readonly setTls: (material: TlsMaterial) => void;
  /** Lets answers under way end, for a second at most. */
  readonly stop: () => Promise<void>;
}

interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Milliseconds. */
const HANDSHAKE_TIMEOUT = 10_000;
const bounds: ServerOptions = { requestTimeout: 10_000, headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };

const plain = (status: number, body: string): Page => ({ status, type: "text/plain; charset=utf-8", body: `${body}\n` });

const send = (response: ServerResponse, { status, type, body }: Page): void => {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), "cache-control": "no-store" });
  response.end(body);
};

/**
 * The admin port: `/metrics` for Prometheus, `/livez` (200 as long as the process answers and one serves), `/readyz` (503 while starting or
 * draining), and `/profiles`. The two probes are for everybody, as the kubelet shows neither a token nor a certificate; all
 * else is for those whom `access` lets in, and whoever it does not is told nothing of what there is.
 */
export const createAdminServer = (options: AdminOptions): AdminServer => {
  const { host, port, tls, metrics, isLive = () => true, isReady, access = () => undefined, profiles } = options;
  const probes: Readonly<Record<string, () => Page>> = {
    "/livez": () => (isLive() ? plain(200, "ok") : plain(503, "no worker")),
    "/readyz": () => (isReady() ? plain(200, "ok") : plain(503, "starting or draining")),
  };
  const pages: Readonly<Record<string, () => Page | Promise<Page>>> = {
    ...probes,
    "/metrics": async () => ({ status: 200, type: metrics.contentType, body: await metrics.render() }),
  };
  const say = (response: ServerResponse, status: number, text: string): void => send(response, plain(status, text));
  const answerProfile = profiles && createProfileAnswers({ ...profiles, say });

  const listener: RequestListener = (request, response) => {
    request.resume();
    const path = request.url?.split("?", 1)[0] ?? "";
    const refusal = Object.hasOwn(probes, path) ? undefined : access(request);
    if (refusal) {
      if (refusal.status === 401) response.setHeader("www-authenticate", 'Bearer realm="latchkey admin"');
      return say(response, refusal.status, refusal.text);
    }
    if (answerProfile?.(request, response)) return;
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) return say(response, 404, "not found");
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return say(response, 405, "only GET and HEAD");
    }
    void Promise.try(page)
      .catch(() => plain(500, "metrics could not be collected"))
      .then((answer) => send(response, answer));
  };

  // Clients without a certificate get as far as the probes: `access` judges what they show, and not the handshake.
  const clients = { requestCert: tls?.clientCa !== undefined, rejectUnauthorized: false };
  const server = tls
    ? createSecureServer({ ...bounds, ...secureContextOptions(tls), ...clients, handshakeTimeout: HANDSHAKE_TIMEOUT }, listener)
    : createHttpServer(bounds, listener);
  // Node starts its timeouts for headers and requests when a server begins to listen, and this one is handed connections instead.
  server.emit("listening");
  // The HTTP server knows no connection whose handshake never ends.
  const sockets = new Set<Socket>();
  const acceptor = (options.createAcceptor ?? createServer)((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    server.emit("connection", socket);
  });
  return {
    start: async () => {
      acceptor.listen(port, host);
      await once(acceptor, "listening");
      const bound = acceptor.address() as AddressInfo;
      return `${tls ? "https" : "http"}://${isIPv6(host) ? `[${host}]` : host}:${bound.port}`;
    },
    setTls: (material) => replaceMaterial(server, tls, material),
    stop: async () => {
      if (!acceptor.listening) return;
      const closed = once(acceptor, "close");
      acceptor.close();
      server.close();
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, 1_000);
      await closed;
      clearTimeout(timer);
    },
  };
};
