import type { IncomingMessage, ServerResponse } from "node:http";
import { create, type DescMessage, type DescService } from "@bufbuild/protobuf";
import type { Caller } from "../../../domain/authorization.ts";
import type { Clock } from "../../../domain/clock.ts";
import { ServiceError } from "../../../domain/errors.ts";
import { createId } from "../../../domain/ids.ts";
import type { Decoded } from "../../codec/compileCodec.ts";
import { atEndOfTurn } from "../../http/endOfTurn.ts";
import type { RequestHandler } from "../../http/handlers.ts";
import { readBody } from "../../http/readBody.ts";
import type { Pipeline, Response } from "../../pipeline/incomingCall.ts";
import type { Slices } from "../../pipeline/slices.ts";
import { asServiceError, type EdgeObserver } from "../edgeObserver.ts";
import { createErrorBody } from "../errorBody.ts";
import { HttpCall } from "../httpCall.ts";
import { answer, answerLong, createAnswerFailure, type Failure } from "./answer.ts";
import { checkContentHeaders } from "./contentHeaders.ts";
import { compileRoutes, type Route } from "./routes.ts";

export interface GatewayOptions {
  /** What exists; the paths are derived from it. */
  readonly services: readonly DescService[];
  readonly pipeline: Pipeline;
  readonly clock: Clock;
  readonly errorsBaseUrl: string;
  /** Largest request body that is accepted (protocol §3). */
  readonly maxBodyBytes: number;
  readonly observer: EdgeObserver;
  readonly slices: Slices;
}

const livenessPath = "/v2/liveness";
const livenessHeaders = ["Content-Type", "application/json"];

/** The path alone: without the query, which is ignored, and without the origin of an absolute-form target. */
const targetPath = (url: string): string => {
  const origin = url.startsWith("/") ? undefined : /^https?:\/\/[^/?]*/i.exec(url)?.[0];
  const target = origin === undefined ? url : url.slice(origin.length);
  const query = target.indexOf("?");
  return query === -1 ? target : target.slice(0, query);
};

/** The request message and all that is wrong with it; what cannot be read at all is one violation. */
const decode = (route: Route, call: HttpCall, body: Buffer): Decoded<DescMessage> | Promise<Decoded<DescMessage>> => {
  const violation = checkContentHeaders(call.req.headers);
  return violation ? { message: create(route.method.input), violations: [violation] } : route.read(body, call);
};

/**
 * The `/v2` edge: `POST /v2/<service>.<procedure>` with JSON bodies (protocol §§1–6), and `GET /v2/liveness`. Works for
 * HTTP/1.1 and HTTP/2. Any other path is answered with a 404 envelope, so it can be the last handler. Checks in the
 * order of protocol §2: path, method, credentials from the headers, size of the body, then the pipeline.
 */
export const createGateway = (options: GatewayOptions): RequestHandler => {
  const { pipeline, clock, maxBodyBytes, observer, slices } = options;
  const routes = compileRoutes(options.services, slices);
  const answerFailure = createAnswerFailure(createErrorBody(options.errorsBaseUrl));

  /** Answers what reached no procedure. */
  const refuse = (
    req: IncomingMessage,
    res: ServerResponse,
    error: ServiceError,
    more: Pick<Failure, "headers" | "procedure"> = {},
  ): void => {
    observer.refused(undefined, error.reason);
    answerFailure(req, res, { requestId: createId("req", clock.now()), error, bodyRead: false, ...more });
  };

  const refuseMethod = (req: IncomingMessage, res: ServerResponse, allowed: string, procedure?: Route): void =>
    refuse(req, res, new ServiceError("method_not_allowed", `This address accepts ${allowed} only, not ${req.method}.`), {
      headers: ["Allow", allowed],
      procedure,
    });

  const answerLiveness = (req: IncomingMessage, res: ServerResponse): void => {
    if (req.method !== "GET") refuseMethod(req, res, "GET");
    else answer(res, 200, livenessHeaders, `{"meta":{"requestId":"${createId("req", clock.now())}"},"data":{"message":"OK"}}`);
  };

  const fail = (call: HttpCall, route: Route, cause: unknown): void => {
    call.release();
    const { req, res, requestId, bodyRead, headers } = call;
    const error = asServiceError(cause, requestId, observer);
    try {
      answerFailure(req, res, { requestId, error, bodyRead, procedure: route, headers });
    } catch (fault) {
      observer.fault(requestId, fault);
      res.destroy();
    }
  };

  const finish = (call: HttpCall, route: Route, body: string | readonly Buffer[]): void => {
    call.release();
    const headers = call.headers === undefined ? route.successHeaders : [...route.successHeaders, ...call.headers];
    if (typeof body === "string") answer(call.res, 200, headers, body);
    else answerLong(call.res, 200, headers, body);
  };

  const succeed = atEndOfTurn(({ call, route, response }: { call: HttpCall; route: Route; response: Response }) => {
    try {
      const text = route.write(response, call);
      if (typeof text !== "string") {
        text.then((pieces) => finish(call, route, pieces)).catch((cause: unknown) => fail(call, route, cause));
        return;
      }
      finish(call, route, text);
    } catch (cause) {
      fail(call, route, cause);
    }
  });

  /** What ends before the pipeline hears of it is counted here. */
  const endEarly = (call: HttpCall, route: Route, cause: unknown): void => {
    if (cause instanceof ServiceError) observer.refused(route.method, cause.reason);
    fail(call, route, cause);
  };

  /** Decodes what can be decoded, and lets the pipeline do the rest. */
  const accept = (call: HttpCall, route: Route, caller: Caller, body: Buffer): void => {
    try {
      const decoded = decode(route, call, body);
      if (!(decoded instanceof Promise)) invoke(call, route, caller, decoded);
      else
        decoded.then(
          (known) => invoke(call, route, caller, known),
          (cause: unknown) => endEarly(call, route, cause),
        );
    } catch (cause) {
      endEarly(call, route, cause);
    }
  };

  const invoke = (call: HttpCall, route: Route, caller: Caller, { message, violations }: Decoded<DescMessage>): void => {
    try {
      const response = pipeline.invoke(call, caller, message, violations);
      if (response instanceof Promise) {
        response.then(
          (known) => succeed({ call, route, response: known }),
          (cause: unknown) => fail(call, route, cause),
        );
      } else succeed({ call, route, response });
    } catch (cause) {
      fail(call, route, cause);
    }
  };

  const read = (call: HttpCall, route: Route, caller: Caller): void => {
    call.identify(pipeline, caller);
    readBody(call.req, call.res, maxBodyBytes, call, slices, (body, share) => {
      if (body instanceof ServiceError) return endEarly(call, route, body);
      call.body = share;
      call.bodyRead = true;
      accept(call, route, caller, body);
    });
  };

  const serve = (req: IncomingMessage, res: ServerResponse, route: Route): void => {
    const call = new HttpCall(route.method, req, res, clock);
    try {
      const caller = pipeline.authenticate(call);
      if (caller instanceof Promise) caller.then((known) => read(call, route, known)).catch((cause: unknown) => fail(call, route, cause));
      else read(call, route, caller);
    } catch (cause) {
      fail(call, route, cause);
    }
  };

  return (req, res) => {
    const url = req.url ?? "";
    const route = routes.get(url) ?? routes.get(targetPath(url));
    if (route === undefined) {
      if (targetPath(url) === livenessPath) answerLiveness(req, res);
      else refuse(req, res, new ServiceError("procedure_not_found", "There is no procedure at this address."));
    } else if (req.method === "POST") serve(req, res, route);
    else refuseMethod(req, res, "POST", route);
  };
};
