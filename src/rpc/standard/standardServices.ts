import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { ServiceError } from "../../domain/errors.ts";
import { isGone } from "../http/http2Stream.ts";
import { reflectionUnits, watchUnits } from "../http/limits.ts";
import type { HealthService } from "./health.ts";
import type { PublicStreams } from "./publicStreams.ts";
import type { AnswerStandard } from "./standardRouter.ts";

/** Serves one method, or refuses to; rejects when the answer cannot be written. */
export type StandardHandler = (req: IncomingMessage, res: ServerResponse, refuse: (error: ServiceError) => void) => Promise<void>;

const noRoom = (): ServiceError =>
  new ServiceError("service_unavailable", "Too many streams are open without credentials. Try again later.");

const notLoaded = (): ServiceError =>
  new ServiceError("service_unavailable", "What answers health and reflection could not be loaded. Try again later.");

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

type Router = Pick<typeof import("./standardRouter.ts"), "createStandardRouter">;

export interface StandardServicesOptions {
  readonly health: HealthService;
  readonly publicStreams: PublicStreams;
  /** Whether reflection is served. */
  readonly reflection: boolean;
  /** Called with what kept the router from being loaded; who asked for it is refused, and the next one loads it anew. */
  readonly onFault: (fault: unknown) => void;
  /** Instead of the router of this service. */
  readonly load?: () => Promise<Router>;
}

/** Connect's router and its adapter for Node: the first who asks waits for them, so that a start does without. */
const loadRouter = (): Promise<Router> => import("./standardRouter.ts");

/** Health and reflection (grpc §1) by path: gRPC's own public services, which need no credentials and stream. */
export const createStandardServices = (
  services: readonly DescService[],
  { health, publicStreams, reflection, onFault, load = loadRouter }: StandardServicesOptions,
): ReadonlyMap<string, StandardHandler> => {
  let opened: Promise<AnswerStandard | undefined> | undefined;
  const open = async (): Promise<AnswerStandard | undefined> => {
    try {
      return (await load()).createStandardRouter(services, health, reflection);
    } catch (fault) {
      opened = undefined;
      onFault(fault);
      return undefined;
    }
  };
  const served = reflection ? [Health, ServerReflection, ServerReflectionAlpha] : [Health];
  const handlerOf =
    ({ methodKind }: DescMethod, path: string): StandardHandler =>
    async (req, res, refuse) => {
      // The library listens for errors and stops doing so between the moment when one is decided and its event.
      req.on("error", () => undefined);
      if (methodKind !== "unary") {
        // Before anything of the request is read: it may never come to an end.
        if (!publicStreams.admit(req, res, methodKind === "server_streaming" ? watchUnits : reflectionUnits)) return refuse(noRoom());
        endWithClient(req, res);
      }
      opened ??= open();
      const answer = await opened;
      // The library would wait for the end of one who left in the meantime.
      if (isGone(res)) return;
      if (answer === undefined) return refuse(notLoaded());
      await answer(path, req, res);
    };
  const methods = served.flatMap((service): readonly DescMethod[] => service.methods);
  const paths = methods.map((method) => [method, `/${method.parent.typeName}/${method.name}`] as const);
  return new Map(paths.map(([method, path]) => [path, handlerOf(method, path)]));
};
