import type { Clock } from "../../base/clock.ts";
import type { ErrorsBaseUrl } from "../../http/errorBody.ts";
import type { FindCaller } from "../incomingCall.ts";
import type { DescribeError } from "../wire/connectError.ts";
import type { RpcRoutes } from "../wire/rpcRoutes.ts";
import type { ServeOptions } from "./serveUnary.ts";

/** What every edge is made with. */
export interface EdgeOptions extends ServeOptions {
  readonly clock: Clock;
  /** Who calls: on edges that take root keys, by the header `Authorization`. */
  readonly findCaller: FindCaller;
  readonly errorsBaseUrl: ErrorsBaseUrl;
}

/** What the edges of gRPC and Connect are made with. */
export interface RpcEdgeOptions extends EdgeOptions {
  readonly routes: RpcRoutes;
  /** How failures look; left out, as grpc §3 says. */
  readonly describeError?: DescribeError;
}
