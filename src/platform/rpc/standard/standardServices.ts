import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import { createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { compressionGzip, universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { Health } from "../../../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { ServiceError } from "../../base/errors.ts";
import { reflectionUnits, watchUnits } from "../../http/limits.ts";
import type { HealthService } from "./health.ts";
import type { PublicStreams } from "./publicStreams.ts";
import { createReflectionService } from "./reflection.ts";

/** Serves one method, or refuses to; rejects when the answer cannot be written. */
export type StandardHandler = (req: IncomingMessage, res: ServerResponse, refuse: (error: ServiceError) => void) => Promise<void>;

const noRoom = (): ServiceError =>
  new ServiceError("service_unavailable", "Too many streams are open without credentials. Try again later.");

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

/**
 * An HTTP/1.1 client that stops sending does not listen to a stream either: without this, a stream with nothing to tell
 * would outlive it.
 */
const endWithClient = (req: IncomingMessage, res: ServerResponse): void => {
  if (req.httpVersionMajor > 1) return;
  const { socket } = req;
  const end = () => socket.destroy();
  socket.once("end", end);
  res.once("close", () => socket.off("end", end));
};

export interface StandardServicesOptions {
  readonly health: HealthService;
  readonly publicStreams: PublicStreams;
  /** Whether reflection is served. */
  readonly reflection: boolean;
}

/**
 * Health and reflection (grpc §1) by path: gRPC's own public services, which need no credentials, stream, and are
 * served by Connect's router as it is.
 */
export const createStandardServices = (
  services: readonly DescService[],
  { health, publicStreams, reflection }: StandardServicesOptions,
): ReadonlyMap<string, StandardHandler> => {
  const router = createConnectRouter({ acceptCompression: [compressionGzip], readMaxBytes: maxMessageBytes });
  router.service(Health, health.implementation);
  if (reflection) {
    const described = [...services, Health, ServerReflection, ServerReflectionAlpha];
    const { v1, v1alpha } = createReflectionService(described, health.draining);
    router.service(ServerReflection, v1).service(ServerReflectionAlpha, v1alpha);
  }
  const handlerOf =
    (handler: UniversalHandler): StandardHandler =>
    async (req, res, refuse) => {
      // The library listens for errors and stops doing so between the moment when one is decided and its event.
      req.on("error", () => undefined);
      const { methodKind } = handler.method;
      if (methodKind !== "unary") {
        // Before anything of the request is read: it may never come to an end.
        if (!publicStreams.admit(req, res, methodKind === "server_streaming" ? watchUnits : reflectionUnits)) return refuse(noRoom());
        endWithClient(req, res);
      }
      const request = universalRequest(req, res);
      if (request === undefined) res.writeHead(400).end();
      else await universalResponseToNodeResponse(await handler(request), res);
    };
  return new Map(router.handlers.map((handler) => [handler.requestPath, handlerOf(handler)]));
};
