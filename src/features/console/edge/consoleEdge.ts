import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import { ConsoleService } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import { ServiceError } from "../../../platform/base/errors.ts";
import { createId } from "../../../platform/base/ids.ts";
import type { ClientAddress } from "../../../platform/http/clientAddress.ts";
import { errorStatus } from "../../../platform/http/errorStatus.ts";
import type { RequestHandler } from "../../../platform/http/handlers.ts";
import { isGone } from "../../../platform/http/http2Stream.ts";
import { securityHeaders } from "../../../platform/http/securityHeaders.ts";
import type { StaticFiles } from "../../../platform/http/staticFiles.ts";
import { createOwnOrigins, type Transport, transportOf } from "../../../platform/http/transport.ts";
import { answerError, send } from "../../../platform/rpc/edges/connect/rpcAnswer.ts";
import { serveWire } from "../../../platform/rpc/edges/connect/serveWire.ts";
import type { RpcEdgeOptions } from "../../../platform/rpc/edges/edgeOptions.ts";
import type { ServeUnary } from "../../../platform/rpc/edges/serveUnary.ts";
import type { FindCaller } from "../../../platform/rpc/incomingCall.ts";
import { createDescribeError } from "../../../platform/rpc/wire/connectError.ts";
import { allWires, jsonWire, timeoutOf, type Wire, wireOf } from "../../../platform/rpc/wire/protocolWire.ts";
import { compileRpcRoutes, type RpcRoute } from "../../../platform/rpc/wire/rpcRoutes.ts";
import { ConsoleCall } from "./consoleCall.ts";
import { createOidcAnswers, type OidcAnswersOptions } from "./oidcAnswers.ts";
import { pageAnswer } from "./pageAnswer.ts";
import { foreignSign } from "./requestChecks.ts";

/** `routes`: those of the procedures that other edges serve, too. */
export interface ConsoleEdgeOptions extends Omit<RpcEdgeOptions, "findCaller" | "describeError"> {
  /** Who calls, by their session. */
  readonly findCaller: FindCaller<ConsoleCall>;
  readonly clientAddress: ClientAddress;
  /** Whether the other end of a connection is a trusted proxy. */
  readonly isProxy: (remoteIp: string | undefined) => boolean;
  /** Origin of `PUBLIC_URL`. */
  readonly publicUrl: string | undefined;
  /** Undefined where the page was not built. */
  readonly files: StaticFiles | undefined;
  readonly capacity: OidcAnswersOptions["capacity"];
  /** Undefined where people sign in with root keys only. */
  readonly oidc: OidcAnswersOptions["signIn"] | undefined;
}

const rpcPrefix = "/ui/rpc/";
const oidcPrefix = "/ui/oidc/";
/** By which provider people can sign in, as its page has to know before anybody has. */
const providerHeader = "x-latchkey-oidc";
const noStore = { "cache-control": "no-store" } as const;

const connectWires = allWires.filter(({ protocol }) => protocol.name === "connect");
const mediaTypes = connectWires.map(({ contentType }) => contentType).join(", ");

/** What only the console serves. */
const ownServices: readonly DescService[] = [ConsoleService];
/** Of their requests, which strangers may send: a root key has 512 characters at most. */
const mostOwnBytes = 8 * 1024;

/** Whether a browser opens the bare address of the service. Programs that get `/` do not ask for HTML. */
const opensRoot = ({ url = "", method, headers }: IncomingMessage): boolean =>
  (url === "/" || url.startsWith("/?")) && (method === "GET" || method === "HEAD") && /\btext\/html\b/i.test(headers.accept ?? "");

/** Whether a request is the console's: `/ui` and everything below it, and `/` when a browser opens it. */
export const isConsoleRequest = (req: IncomingMessage): boolean => {
  const { url = "" } = req;
  return (url.startsWith("/ui") && /^\/ui(?:[/?]|$)/.test(url)) || opensRoot(req);
};

/**
 * The console (console §1): its page on `/ui`, to which a browser that opens `/` is sent, and the procedures on `/ui/rpc/<package>.<Service>/<Procedure>` in Connect's
 * protocol for callers with a session. Checks in this order: address (403), path, method, `Authorization` (401), media type,
 * where the request comes from (403), and then as everywhere.
 */
export const createConsoleEdge = (options: ConsoleEdgeOptions): RequestHandler => {
  const { clock, observer, clientAddress, isProxy, files } = options;
  const origins = createOwnOrigins(options.publicUrl);
  const describeError = createDescribeError(options.errorsBaseUrl);
  const servers = (maxBodyBytes: number): ReadonlyMap<Wire, ServeUnary<ConsoleCall, RpcRoute>> =>
    new Map(connectWires.map((wire) => [wire, serveWire({ ...options, maxBodyBytes }, wire)]));
  const shared = { routes: options.routes, serveBy: servers(options.maxBodyBytes) };
  const own = { routes: compileRpcRoutes(ownServices), serveBy: servers(mostOwnBytes) };
  const routes = new Map(
    [shared, own].flatMap(({ routes: some, serveBy }) =>
      [...some].map(([path, route]) => [rpcPrefix + path.slice(1), { route, serveBy }] as const),
    ),
  );

  const refuse = (
    res: ServerResponse,
    error: ServiceError,
    more: OutgoingHttpHeaders,
    httpStatus: number = errorStatus(error.reason).http,
  ): void => {
    observer.refused("console", undefined, error.reason);
    const requestId = createId("req", clock.now());
    const headers = { ...more, ...noStore, "x-request-id": requestId };
    answerError(res, jsonWire, describeError(error, requestId, false), false, { headers }, httpStatus);
  };

  const { oidc } = options;
  const answerOidc = oidc && createOidcAnswers({ ...options, signIn: oidc });
  const ownHeaders = oidc === undefined ? {} : { [providerHeader]: oidc.providerName };

  const answerRpc = (
    req: IncomingMessage,
    res: ServerResponse,
    path: string,
    transport: Transport,
    headers: Readonly<Record<string, string>>,
  ): void => {
    const found = routes.get(path);
    if (found === undefined)
      return void refuse(res, new ServiceError("procedure_not_found", "There is no procedure at this address."), headers);
    if (req.method !== "POST") {
      const error = new ServiceError("method_not_allowed", `Procedures accept POST only, not ${req.method}.`);
      return void refuse(res, error, { ...headers, allow: "POST" });
    }
    if (req.headers.authorization !== undefined) {
      const detail = "The console takes no header Authorization: root keys are for /v2, gRPC and Connect.";
      return void refuse(res, new ServiceError("console_session_required", detail), headers);
    }
    const wire = wireOf(req.headers["content-type"]);
    const serve = wire && found.serveBy.get(wire);
    if (wire === undefined || serve === undefined) {
      const violations = [{ location: "header.Content-Type", message: `want one of ${mediaTypes}` }];
      const error = new ServiceError("invalid_input", `The console takes ${mediaTypes} only.`, { violations });
      return void refuse(res, error, { ...headers, "accept-post": mediaTypes }, 415);
    }
    const foreign = foreignSign(req, transport, origins);
    if (foreign !== undefined) return void refuse(res, new ServiceError("console_request_refused", foreign), headers);
    const { route } = found;
    const parts = ["console", route.method, req, res, clock, timeoutOf(wire, req.headers)] as const;
    const more = found.serveBy === own.serveBy ? ownHeaders : {};
    serve(new ConsoleCall(parts, transport, { ...headers, ...noStore, ...more }, clientAddress), route);
  };

  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    const transport = transportOf(req, isProxy);
    const headers = securityHeaders(transport);
    const [path = ""] = (req.url ?? "").split("?", 1);
    if (path === "/") {
      const form = { location: `${options.publicUrl ?? ""}/ui`, vary: "accept", "content-length": 0 };
      return void send(res, { status: 303, headers: { ...headers, ...noStore, ...form }, body: Buffer.alloc(0) }, false);
    }
    if (!origins.isAddressed(transport)) {
      const detail = "The console is not served under this name: open it at its own address, or set PUBLIC_URL to this one.";
      return void refuse(res, new ServiceError("console_request_refused", detail), headers);
    }
    if (path.startsWith(rpcPrefix)) return void answerRpc(req, res, path, transport, headers);
    if (answerOidc && path.startsWith(oidcPrefix)) return void answerOidc(req, res, transport, headers);
    const page = pageAnswer(files, req, path);
    const body = req.method === "HEAD" ? Buffer.alloc(0) : page.body;
    send(res, { status: page.status, headers: { ...headers, ...page.headers }, body }, false);
  };

  return (req, res) => {
    try {
      answer(req, res);
    } catch (fault) {
      if (!isGone(res)) observer.fault("none", fault);
      res.destroy();
    }
  };
};
