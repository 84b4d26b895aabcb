import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import { createConnectRouter } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import { compressionGzip, universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { HealthService } from "./health.ts";
import { createReflectionService } from "./reflection.ts";

/** Answers a request for the method with this path; rejects when the answer cannot be written. */
export type AnswerStandard = (path: string, req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** Their requests are names. */
const maxMessageBytes: number = 64 * 1024;

/** Undefined for a host that cannot be part of a URL, which the library builds. */
const universalRequest = (req: IncomingMessage, res: ServerResponse): UniversalServerRequest | undefined => {
  try {
    return universalRequestFromNodeRequest(req, res, undefined, undefined);
  } catch {
    return undefined;
  }
};

/** Health and reflection, served by Connect's router as it is. */
export const createStandardRouter = (services: readonly DescService[], health: HealthService, reflection: boolean): AnswerStandard => {
  const router = createConnectRouter({ acceptCompression: [compressionGzip], readMaxBytes: maxMessageBytes });
  router.service(Health, health.implementation);
  if (reflection) {
    const described = [...services, Health, ServerReflection, ServerReflectionAlpha];
    const { v1, v1alpha } = createReflectionService(described, health.draining);
    router.service(ServerReflection, v1).service(ServerReflectionAlpha, v1alpha);
  }
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return async (path, req, res) => {
    const handler = handlers.get(path);
    if (handler === undefined) throw new Error(`nothing serves ${path}`);
    const request = universalRequest(req, res);
    if (request === undefined) res.writeHead(400).end();
    else await universalResponseToNodeResponse(await handler(request), res);
  };
};
