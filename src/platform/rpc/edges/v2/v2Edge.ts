import type { IncomingMessage, ServerResponse } from "node:http";
import { create, type DescService } from "@bufbuild/protobuf";
import { ServiceError } from "../../../base/errors.ts";
import { createId } from "../../../base/ids.ts";
import { createErrorBody } from "../../../http/errorBody.ts";
import type { RequestHandler } from "../../../http/handlers.ts";
import type { EdgeOptions } from "../edgeOptions.ts";
import { HttpCall } from "../httpCall.ts";
import { serveUnary } from "../serveUnary.ts";
import { answer, answerLong, createAnswerFailure, type Failure } from "./answer.ts";
import { checkContentHeaders } from "./contentHeaders.ts";
import type { AnswerDescription } from "./interfaceDescription.ts";
import { compileRoutes, type Route } from "./routes.ts";

export interface V2EdgeOptions extends EdgeOptions {
  /** What exists; the paths are derived from it. */
  readonly services: readonly DescService[];
  /** Answers `GET /openapi.json`; undefined: the address is nobody's. */
  readonly answerDescription?: AnswerDescription;
}

const livenessPath = "/v2/liveness";
const descriptionPath = "/openapi.json";
const livenessHeaders = ["Content-Type", "application/json"];

/** The path alone: without the query, which is ignored, and without the origin of an absolute-form target. */
const targetPath = (url: string): string => {
  const origin = url.startsWith("/") ? undefined : /^https?:\/\/[^/?]*/i.exec(url)?.[0];
  const target = origin === undefined ? url : url.slice(origin.length);
  const query = target.indexOf("?");
  return query === -1 ? target : target.slice(0, query);
};

/**
 * The `/v2` edge: `POST /v2/<service>.<procedure>` with JSON bodies (protocol §§1–6), `GET /v2/liveness`, and the description
 * of it all at `GET /openapi.json`. Works for HTTP/1.1 and HTTP/2. Any other path is answered with a 404 envelope, so it can be the last handler. Checks in the
 * order of protocol §2: path, method, credentials from the headers, size of the body, then the pipeline.
 */
export const createV2Edge = (options: V2EdgeOptions): RequestHandler => {
  const { clock, observer, findCaller, answerDescription } = options;
  const routes = compileRoutes(options.services);
  const answerFailure = createAnswerFailure(createErrorBody(options.errorsBaseUrl));

  /** Answers what reached no procedure. */
  const refuse = (
    req: IncomingMessage,
    res: ServerResponse,
    error: ServiceError,
    more: Pick<Failure, "headers" | "procedure"> = {},
  ): void => {
    observer.refused("v2", undefined, error.reason);
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

  /** @param path without the query. */
  const answerOther = (req: IncomingMessage, res: ServerResponse, path: string): void => {
    const describe = path === descriptionPath ? answerDescription : undefined;
    if (path === livenessPath) answerLiveness(req, res);
    else if (describe && req.method !== "GET" && req.method !== "HEAD") refuseMethod(req, res, "GET, HEAD");
    else if (!describe?.(req, res)) refuse(req, res, new ServiceError("procedure_not_found", "There is no procedure at this address."));
  };

  const serve = serveUnary(options, {
    findCaller,
    overhead: 0,
    decode: (call: HttpCall, route: Route, body) => {
      const violation = checkContentHeaders(call.req.headers);
      return violation ? { message: create(route.method.input), violations: [violation] } : route.read(body, call);
    },
    encode: (call, route, response): string | readonly Buffer[] | Promise<readonly Buffer[]> => route.write(response, call),
    answer: (call, route, body) => {
      const headers = call.headers === undefined ? route.successHeaders : [...route.successHeaders, ...call.headers];
      if (typeof body === "string") answer(call.res, 200, headers, body);
      else answerLong(call.res, 200, headers, body);
    },
    answerFailure: ({ req, res, requestId, bodyRead, headers }, route, error) =>
      answerFailure(req, res, { requestId, error, bodyRead, procedure: route, headers }),
    answersTogether: true,
  });

  return (req, res) => {
    const url = req.url ?? "";
    const route = routes.get(url) ?? routes.get(targetPath(url));
    if (route === undefined) answerOther(req, res, targetPath(url));
    else if (req.method === "POST") serve(new HttpCall("v2", route.method, req, res, clock), route);
    else refuseMethod(req, res, "POST", route);
  };
};
