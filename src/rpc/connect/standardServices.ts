import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import { createConnectRouter } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import { compressionGzip, universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { HealthService } from "../health.ts";
import { createReflectionService } from "../reflection.ts";

/** Serves one method; rejects when the answer cannot be written. */
export type StandardHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

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

/**
 * Health and reflection (grpc §1) by path: gRPC's own public services, which need no credentials, stream, and are
 * served by Connect's router as it is.
 */
export const createStandardServices = (services: readonly DescService[], health: HealthService): ReadonlyMap<string, StandardHandler> => {
  const reflection = createReflectionService([...services, Health, ServerReflection, ServerReflectionAlpha], health.draining);
  const router = createConnectRouter({ acceptCompression: [compressionGzip], readMaxBytes: maxMessageBytes })
    .service(Health, health.implementation)
    .service(ServerReflection, reflection.v1)
    .service(ServerReflectionAlpha, reflection.v1alpha);
  return new Map(
    router.handlers.map((handler) => [
      handler.requestPath,
      async (req, res) => {
        // The library listens for errors and stops doing so between the moment when one is decided and its event.
        req.on("error", () => undefined);
        if (handler.method.methodKind !== "unary") endWithClient(req, res);
        const request = universalRequest(req, res);
        if (request === undefined) res.writeHead(400).end();
        else await universalResponseToNodeResponse(await handler(request), res);
      },
    ]),
  );
};
