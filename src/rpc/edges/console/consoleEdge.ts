import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { ConsoleService } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import { ServiceError } from "../../../domain/errors.ts";
import { createId } from "../../../domain/ids.ts";
import type { RequestHandler } from "../../http/handlers.ts";
import { isGone } from "../../http/http2Stream.ts";
import type { ClientAddress } from "../../pipeline/clientAddress.ts";
import { createDescribeError } from "../../wire/connectError.ts";
import { jsonWire, wireOf } from "../../wire/protocolWire.ts";
import { compileRpcRoutes } from "../../wire/rpcRoutes.ts";
import { answerCall, send } from "../connect/answerCall.ts";
import { type ConnectOptions, createConnectEdge } from "../connect/connectEdge.ts";
import { ConsoleCall } from "./consoleCall.ts";
import { pageAnswer } from "./pageAnswer.ts";
import { foreignSign } from "./requestChecks.ts";
import { securityHeaders } from "./securityHeaders.ts";
import type { StaticFiles } from "./staticFiles.ts";
import { createOwnOrigins, type Transport, transportOf } from "./transport.ts";

/** Its pipeline knows callers by their sessions. */
export interface ConsoleEdgeOptions extends Omit<ConnectOptions, "newCall"> {
  readonly clientAddress: ClientAddress;
  /** Whether the other end of a connection is a trusted proxy. */
  readonly isProxy: (remoteIp: string | undefined) => boolean;
  /** Origin of `PUBLIC_URL`. */
  readonly publicUrl: string | undefined;
  /** Undefined where the page was not built. */
  readonly files: StaticFiles | undefined;
}

const rpcPrefix = "/ui/rpc/";
const mediaTypes = "application/json, application/proto";
const noStore = { "cache-control": "no-store" } as const;

type Objection = readonly [httpStatus: number, error: ServiceError, headers?: OutgoingHttpHeaders];

/** Whether a request is the console's: `/ui` and everything below it. */
export const isConsoleRequest = ({ url = "" }: IncomingMessage): boolean => url.startsWith("/ui") && /^\/ui(?:[/?]|$)/.test(url);

/**
 * The console (console §1): its page on `/ui`, and the procedures on `/ui/rpc/<package>.<Service>/<Procedure>` in Connect's
 * protocol for callers with a session. Checks in this order: address (403), path, method, `Authorization` (401), media type,
 * where the request comes from (403), and then as everywhere.
 */
export const createConsoleEdge = (options: ConsoleEdgeOptions): RequestHandler => {
  const { services, slices, clock, observer, clientAddress, isProxy, files } = options;
  const origins = createOwnOrigins(options.publicUrl);
  const describeError = createDescribeError(options.errorsBaseUrl);
  const below = [...options.routes, ...compileRpcRoutes([ConsoleService], slices)];
  const routes = new Map(below.map(([path, route]) => [rpcPrefix + path.slice(1), route]));
  const transports = new WeakMap<IncomingMessage, Transport>();
  const connect = createConnectEdge({
    ...options,
    services: [...services, ConsoleService],
    routes,
    newCall: (...call) => {
      const transport = transports.get(call[1]) ?? transportOf(call[1], isProxy);
      return new ConsoleCall(call, transport, { ...securityHeaders(transport), ...noStore }, clientAddress);
    },
  });

  const refuse = (res: ServerResponse, [httpStatus, error, more = {}]: Objection, headers: OutgoingHttpHeaders): Promise<void> => {
    observer.refused(undefined, error.reason);
    const requestId = createId("req", clock.now());
    const outcome = { error: describeError(error, requestId, false), httpStatus, bodyRead: false };
    return answerCall(res, jsonWire, outcome, { ...headers, ...more, ...noStore, "x-request-id": requestId });
  };

  /** Why a request to a procedure gets no further, and the status and headers that say so; undefined when it does. */
  const objection = (req: IncomingMessage, path: string, transport: Transport): Objection | undefined => {
    if (!routes.has(path)) return [404, new ServiceError("procedure_not_found", "There is no procedure at this address.")];
    if (req.method !== "POST") {
      return [405, new ServiceError("method_not_allowed", `Procedures accept POST only, not ${req.method}.`), { allow: "POST" }];
    }
    if (req.headers.authorization !== undefined) {
      const detail = "The console takes no header Authorization: root keys are for /v2, gRPC and Connect.";
      return [401, new ServiceError("console_session_required", detail)];
    }
    if (wireOf(req.headers["content-type"])?.protocol.name !== "connect") {
      const violations = [{ location: "header.Content-Type", message: `want one of ${mediaTypes}` }];
      return [
        415,
        new ServiceError("invalid_input", `The console takes ${mediaTypes} only.`, { violations }),
        { "accept-post": mediaTypes },
      ];
    }
    const foreign = foreignSign(req, transport, origins);
    return foreign === undefined ? undefined : [403, new ServiceError("console_request_refused", foreign)];
  };

  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const transport = transportOf(req, isProxy);
    const headers = securityHeaders(transport);
    const [path = ""] = (req.url ?? "").split("?", 1);
    if (!origins.isAddressed(transport)) {
      const detail = "The console is not served under this name: open it at its own address, or set PUBLIC_URL to this one.";
      return refuse(res, [403, new ServiceError("console_request_refused", detail)], headers);
    }
    if (!path.startsWith(rpcPrefix)) {
      const page = pageAnswer(files, req, path);
      const body = req.method === "HEAD" ? Buffer.alloc(0) : page.body;
      return send(res, { status: page.status, headers: { ...headers, ...page.headers }, body }, false);
    }
    const objected = objection(req, path, transport);
    if (objected !== undefined) return refuse(res, objected, headers);
    transports.set(req, transport);
    connect.handle(req, res);
  };

  return (req, res) => {
    answer(req, res).catch((error: unknown) => {
      if (!isGone(res)) observer.fault("none", error);
      res.destroy();
    });
  };
};
