import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import { ServiceError } from "../../../base/errors.ts";
import { createId } from "../../../base/ids.ts";
import { errorStatus } from "../../../http/errorStatus.ts";
import type { RequestHandler } from "../../../http/handlers.ts";
import { isGone } from "../../../http/http2Stream.ts";
import type { HealthService } from "../../standard/health.ts";
import type { PublicStreams } from "../../standard/publicStreams.ts";
import { createStandardServices } from "../../standard/standardServices.ts";
import { createDescribeError } from "../../wire/connectError.ts";
import { allWires, jsonWire, servedContentTypes, timeoutOf, type Wire, wireOf } from "../../wire/protocolWire.ts";
import type { RpcRoute } from "../../wire/rpcRoutes.ts";
import type { RpcEdgeOptions } from "../edgeOptions.ts";
import { HttpCall } from "../httpCall.ts";
import type { ServeUnary } from "../serveUnary.ts";
import { answerError, send } from "./rpcAnswer.ts";
import { serveWire } from "./serveWire.ts";

export interface ConnectEdgeOptions extends RpcEdgeOptions {
  /** What exists. */
  readonly services: readonly DescService[];
  readonly health: HealthService;
  /** Bounds the streams that need no credentials. */
  readonly publicStreams: PublicStreams;
  readonly reflection: boolean;
}

/** The RPC edge beside `/v2`, on the same port. */
export interface ConnectEdge {
  /** Whether a request is to be answered in the manner of RPC: by its address, or else by how it is written. */
  readonly accepts: (req: IncomingMessage) => boolean;
  readonly handle: RequestHandler;
}

const pathOf = (url: string): string => url.split("?", 1)[0] ?? "";

const rpcContentType = /^application\/(grpc|connect\+|proto$)/i;

/**
 * The RPC edge (grpc §1): gRPC, gRPC-Web and Connect, unary, on `/<package>.<Service>/<Procedure>`, over the same
 * pipeline as `/v2`. Answers every request it is given; an address that does not exist is `unimplemented` in the
 * manner of the request's protocol. The order of checks is that of protocol §2.
 */
export const createConnectEdge = (options: ConnectEdgeOptions): ConnectEdge => {
  const { services, routes, clock, observer } = options;

  const standard = createStandardServices(services, options);
  const prefixes = [...new Set(services.map((service) => `/${service.file.proto.package}.`))];
  const describeError = options.describeError ?? createDescribeError(options.errorsBaseUrl);

  const serveBy: ReadonlyMap<Wire, ServeUnary<HttpCall, RpcRoute>> = new Map(allWires.map((wire) => [wire, serveWire(options, wire)]));

  /** Answers what reached no procedure, in Connect's manner unless the content type tells another. */
  const refuse = (req: IncomingMessage, res: ServerResponse, error: ServiceError, allow?: string): void => {
    const wire = wireOf(req.headers["content-type"]) ?? jsonWire;
    observer.refused(wire.protocol.name, undefined, error.reason);
    const requestId = createId("req", clock.now());
    const headers = { ...(allow === undefined ? {} : { allow }), "x-request-id": requestId };
    const described = describeError(error, requestId, wire.protocol.name === "grpc");
    answerError(res, wire, described, false, { headers }, errorStatus(error.reason).http);
  };

  /** There is no protocol to say it in: all three take a plain 415 for `unknown`. */
  const refuseContentType = (res: ServerResponse): void => {
    observer.refused("connect", undefined, "invalid_input");
    const body = Buffer.from(`The content type is none of those served: ${servedContentTypes}\n`);
    const headers = {
      "content-type": "text/plain",
      "content-length": body.length,
      "accept-post": servedContentTypes,
      "x-request-id": createId("req", clock.now()),
    };
    send(res, { status: 415, headers, body }, false);
  };

  /** A promise where there is something to wait for. */
  const answer = (req: IncomingMessage, res: ServerResponse): Promise<void> | undefined => {
    const path = pathOf(req.url ?? "");
    const open = standard.get(path);
    if (open !== undefined) return open(req, res, (error) => refuse(req, res, error));
    const route = routes.get(path);
    if (route === undefined)
      return void refuse(req, res, new ServiceError("procedure_not_found", "There is no procedure at this address."));
    if (req.method !== "POST") {
      const error = new ServiceError("method_not_allowed", `Procedures accept POST only, not ${req.method}.`);
      return void refuse(req, res, error, "POST");
    }
    const wire = wireOf(req.headers["content-type"]);
    const serve = wire && serveBy.get(wire);
    if (wire === undefined || serve === undefined) return void refuseContentType(res);
    return void serve(new HttpCall(wire.protocol.name, route.method, req, res, clock, timeoutOf(wire, req.headers)), route);
  };

  /** The answer itself could not be written, mostly because the client is gone. */
  const giveUp = (res: ServerResponse, fault: unknown): void => {
    if (!isGone(res)) observer.fault("none", fault);
    res.destroy();
  };

  return {
    accepts: ({ url = "", headers }) =>
      prefixes.some((prefix) => url.startsWith(prefix)) ||
      standard.has(pathOf(url)) ||
      rpcContentType.test(headers["content-type"] ?? "") ||
      headers["connect-protocol-version"] !== undefined,
    handle: (req, res) => {
      try {
        answer(req, res)?.catch((fault: unknown) => giveUp(res, fault));
      } catch (fault) {
        giveUp(res, fault);
      }
    },
  };
};
