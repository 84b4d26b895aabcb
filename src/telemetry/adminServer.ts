import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, isIPv6 } from "node:net";
import type { Metrics } from "./metrics.ts";

export interface AdminOptions {
  readonly host: string;
  /** 0 = a free port. */
  readonly port: number;
  readonly metrics: Pick<Metrics, "contentType" | "render">;
  /** True unless told: a process that answers lives. */
  readonly isLive?: () => boolean;
  /** True after the start and before draining. A store that is away does not change it (DESIGN §8). */
  readonly isReady: () => boolean;
}

export interface AdminServer {
  /** Listens; resolves to its URL without a trailing slash. Rejects when the port is taken. */
  readonly start: () => Promise<string>;
  /** Lets answers under way end, for a second at most. */
  readonly stop: () => Promise<void>;
}

interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const plain = (status: number, body: string): Page => ({ status, type: "text/plain; charset=utf-8", body: `${body}\n` });

/**
 * The admin port: `/metrics` for Prometheus, `/livez` (200 as long as the process answers), `/readyz` (503 while
 * starting or draining). Nothing here needs or shows a credential; keep the port away from callers.
 */
export const createAdminServer = ({ host, port, metrics, isReady, isLive = () => true }: AdminOptions): AdminServer => {
  const pages: Readonly<Record<string, () => Page | Promise<Page>>> = {
    "/livez": () => (isLive() ? plain(200, "ok") : plain(503, "no worker")),
    "/readyz": () => (isReady() ? plain(200, "ok") : plain(503, "starting or draining")),
    "/metrics": async () => ({ status: 200, type: metrics.contentType, body: await metrics.render() }),
  };

  const answer = async (method: string | undefined, url: string | undefined): Promise<Page> => {
    const path = url?.split("?", 1)[0] ?? "";
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) return plain(404, "not found");
    return method === "GET" || method === "HEAD" ? page() : plain(405, "only GET and HEAD");
  };

  const listener: RequestListener = (request, response) => {
    request.resume();
    void answer(request.method, request.url)
      .catch(() => plain(500, "metrics could not be collected"))
      .then(({ status, type, body }) => {
        response.writeHead(status, {
          "content-type": type,
          "content-length": Buffer.byteLength(body),
          "cache-control": "no-store",
          ...(status === 405 ? { allow: "GET, HEAD" } : undefined),
        });
        response.end(body);
      });
  };

  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000 }, listener);
  return {
    start: async () => {
      server.listen(port, host);
      await once(server, "listening");
      const bound = server.address() as AddressInfo;
      return `http://${isIPv6(host) ? `[${host}]` : host}:${bound.port}`;
    },
    stop: async () => {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      const timer = setTimeout(() => server.closeAllConnections(), 1_000);
      await closed;
      clearTimeout(timer);
    },
  };
};
