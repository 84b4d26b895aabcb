import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { create, type DescMessage, type DescService } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../domain/clock.ts";
import { ServiceError, type Violation } from "../../../domain/errors.ts";
import { createId } from "../../../domain/ids.ts";
import type { Decoded } from "../../codec/compileCodec.ts";
import type { RequestHandler } from "../../http/handlers.ts";
import { addFields } from "../../http/headerFields.ts";
import { isGone } from "../../http/http2Stream.ts";
import type { Pipeline } from "../../pipeline/incomingCall.ts";
import type { Slices } from "../../pipeline/slices.ts";
import type { HealthService } from "../../standard/health.ts";
import type { PublicStreams } from "../../standard/publicStreams.ts";
import { createStandardServices } from "../../standard/standardServices.ts";
import { createDescribeError, type DescribeError } from "../../wire/connectError.ts";
import { jsonWire, servedContentTypes, timeoutOf, type Wire, wireOf } from "../../wire/protocolWire.ts";
import { readMessage } from "../../wire/readMessage.ts";
import type { RpcRoute, RpcRoutes } from "../../wire/rpcRoutes.ts";
import { asServiceError, type EdgeObserver } from "../edgeObserver.ts";
import { HttpCall } from "../httpCall.ts";
import { answerCall, send } from "./answerCall.ts";

export interface ConnectOptions {
  /** What exists. */
  readonly services: readonly DescService[];
  readonly routes: RpcRoutes;
  readonly pipeline: Pipeline;
  readonly clock: Clock;
  readonly errorsBaseUrl: string;
  /** Largest request message, before and after decompression (grpc §3). */
  readonly maxBodyBytes: number;
  readonly observer: EdgeObserver;
  readonly slices: Slices;
  readonly health: HealthService;
  /** Bounds the streams that need no credentials. */
  readonly publicStreams: PublicStreams;
  readonly reflection: boolean;
  /** Makes the calls; left out, of those that take root keys. */
  readonly newCall?: (...args: ConstructorParameters<typeof HttpCall>) => HttpCall;
  /** How failures look; left out, as grpc §3 says. */
  readonly describeError?: DescribeError;
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
export const createConnectEdge = (options: ConnectOptions): ConnectEdge => {
  const { services, routes, pipeline, clock, maxBodyBytes, observer, slices } = options;
  const { newCall = (...args) => new HttpCall(...args) } = options;

  const standard = createStandardServices(services, options);
  const prefixes = [...new Set(services.map((service) => `/${service.file.proto.package}.`))];
  const describeError = options.describeError ?? createDescribeError(options.errorsBaseUrl);

  const connectError = (error: ServiceError, requestId: string, wire: Wire): ConnectError =>
    describeError(error, requestId, wire.protocol.name === "grpc");

  /** Answers what reached no procedure, in Connect's manner unless the content type tells another. */
  const refuse = (req: IncomingMessage, res: ServerResponse, error: ServiceError, httpStatus: number, extra?: OutgoingHttpHeaders) => {
    observer.refused(undefined, error.reason);
    const wire = wireOf(req.headers["content-type"]) ?? jsonWire;
    const requestId = createId("req", clock.now());
    const outcome = { error: connectError(error, requestId, wire), httpStatus, bodyRead: false };
    return answerCall(res, wire, outcome, { ...extra, "x-request-id": requestId });
  };

  /** There is no protocol to say it in: all three take a plain 415 for `unknown`. */
  const refuseContentType = async (res: ServerResponse): Promise<void> => {
    observer.refused(undefined, "invalid_input");
    const body = Buffer.from(`The content type is none of those served: ${servedContentTypes}\n`);
    const headers = {
      "content-type": "text/plain",
      "content-length": body.length,
      "accept-post": servedContentTypes,
      "x-request-id": createId("req", clock.now()),
    };
    send(res, { status: 415, headers, body }, false);
  };

  /** Steps 2 to 10 of protocol §2; the bytes of the response. */
  const run = async (
    call: HttpCall,
    { method, binary, json }: RpcRoute,
    wire: Wire,
    badTimeout: Violation | undefined,
  ): Promise<Uint8Array> => {
    const caller = await pipeline.authenticate(call);
    call.identify(pipeline, caller);
    const form = wire.binary ? binary : json;
    const decode = async (): Promise<Decoded<DescMessage>> => {
      const read = await readMessage(call, wire, maxBodyBytes, slices);
      call.bodyRead = true;
      return "bytes" in read ? form.read(read.bytes, call) : { message: create(method.input), violations: [read.violation] };
    };
    const { message, violations } = await decode().catch((error: unknown) => {
      if (error instanceof ServiceError) observer.refused(method, error.reason);
      throw error;
    });
    if (call.overdue) throw new ServiceError("request_timeout", "The deadline passed before the call could begin.");
    const response = await pipeline.invoke(call, caller, message, badTimeout ? [badTimeout, ...violations] : violations);
    return form.write(response, call);
  };

  const serve = async (req: IncomingMessage, res: ServerResponse, route: RpcRoute, wire: Wire): Promise<void> => {
    const timeout = timeoutOf(wire, req.headers);
    const badTimeout = typeof timeout === "object" ? timeout : undefined;
    const call = newCall(route.method, req, res, clock, typeof timeout === "number" ? timeout : undefined);
    const extra = () => addFields({ "x-request-id": call.requestId }, call.headers);
    try {
      const bytes = await run(call, route, wire, badTimeout);
      call.release();
      await answerCall(res, wire, { bytes }, extra(), call.trailers);
    } catch (cause) {
      call.release();
      const error = connectError(asServiceError(cause, call.requestId, observer), call.requestId, wire);
      await answerCall(res, wire, { error, bodyRead: call.bodyRead }, extra(), call.trailers);
    }
  };

  const answer = (req: IncomingMessage, res: ServerResponse): Promise<void> | undefined => {
    const path = pathOf(req.url ?? "");
    const open = standard.get(path);
    if (open !== undefined) return open(req, res, (error) => refuse(req, res, error, 503));
    const route = routes.get(path);
    if (route === undefined)
      return refuse(req, res, new ServiceError("procedure_not_found", "There is no procedure at this address."), 404);
    if (req.method !== "POST") {
      const error = new ServiceError("method_not_allowed", `Procedures accept POST only, not ${req.method}.`);
      return refuse(req, res, error, 405, { allow: "POST" });
    }
    const wire = wireOf(req.headers["content-type"]);
    if (wire !== undefined) return serve(req, res, route, wire);
    return refuseContentType(res);
  };

  return {
    accepts: ({ url = "", headers }) =>
      prefixes.some((prefix) => url.startsWith(prefix)) ||
      standard.has(pathOf(url)) ||
      rpcContentType.test(headers["content-type"] ?? "") ||
      headers["connect-protocol-version"] !== undefined,
    handle: (req, res) => {
      answer(req, res)?.catch((error: unknown) => {
        // The answer itself could not be written, mostly because the client is gone.
        if (!isGone(res)) observer.fault("none", error);
        res.destroy();
      });
    },
  };
};
