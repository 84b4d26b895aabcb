import type { Message } from "@bufbuild/protobuf";
import { type Caller, unrestrictedGrants } from "../../../src/platform/authorization/authorization.ts";
import { type Clock, systemClock } from "../../../src/platform/base/clock.ts";
import { invalidInput, type Reason, ServiceError, type Violation } from "../../../src/platform/base/errors.ts";
import type { SubjectName } from "../../../src/platform/base/subjectNames.ts";
import { type CapacityOptions, createCapacity } from "../../../src/platform/http/capacity.ts";
import { createClientAddress, createIsProxy } from "../../../src/platform/http/clientAddress.ts";
import { createConnectionGuards } from "../../../src/platform/http/connectionGuard.ts";
import { createListener, type Listener } from "../../../src/platform/http/listener.ts";
import type { RefusedClient } from "../../../src/platform/http/tls/clientRefusal.ts";
import type { TlsMaterial } from "../../../src/platform/http/tls/tlsMaterial.ts";
import { createConnectEdge } from "../../../src/platform/rpc/edges/connect/connectEdge.ts";
import { createGrpcEdge } from "../../../src/platform/rpc/edges/grpc/grpcEdge.ts";
import { createV2Edge } from "../../../src/platform/rpc/edges/v2/v2Edge.ts";
import type { FindCaller, IncomingCall, Pipeline } from "../../../src/platform/rpc/incomingCall.ts";
import { createHealthService, type HealthService } from "../../../src/platform/rpc/standard/health.ts";
import { createPublicStreams } from "../../../src/platform/rpc/standard/publicStreams.ts";
import { compileRpcRoutes } from "../../../src/platform/rpc/wire/rpcRoutes.ts";
import type { EdgeName } from "../../../src/platform/telemetry/callMetrics.ts";
import { createDispatcher } from "../../../src/service/dispatcher.ts";
import { services } from "../../../src/service/services.ts";

export const errorsBaseUrl = (): string => "https://docs.example/latchkey/";

/** A call that reached the fake pipeline. */
export interface Invocation {
  readonly call: IncomingCall;
  readonly message: Message;
  readonly violations: readonly Violation[];
}

type Answer = object | Promise<object>;

export interface EdgesOptions {
  readonly maxBodyBytes?: number;
  readonly tls?: TlsMaterial;
  readonly allowedNames?: readonly SubjectName[];
  readonly onClientRefused?: (client: RefusedClient) => void;
  /** The response without its meta, or an error. */
  readonly invoke?: (invocation: Invocation) => Answer;
  readonly authenticate?: FindCaller;
  readonly capacity?: Partial<CapacityOptions>;
  /** Of streams without credentials, in milliseconds. */
  readonly unreadTimeout?: number;
  readonly reflection?: boolean;
  /** When it stops, in milliseconds; none unless told. */
  readonly linger?: number;
  readonly trustedProxies?: readonly string[];
  /** The clock of the rate counters. */
  readonly clock?: Clock;
}

/** The edges on a port of their own, over a pipeline that does nothing but what the test says. */
export interface Edges extends AsyncDisposable {
  readonly listener: Listener;
  readonly port: number;
  readonly url: string;
  readonly health: HealthService;
  readonly invocations: Invocation[];
  readonly refused: { readonly method: string | undefined; readonly reason: Reason }[];
  /** Defects; checked to be empty when the edges are disposed of, unless the test took them out. */
  readonly faults: unknown[];
}

const caller: Caller = { rootKeyId: "rk_1", name: undefined, expires: undefined, grants: unrestrictedGrants };

const findCaller: FindCaller = ({ authorization }) => {
  if (authorization === undefined) throw new ServiceError("authentication_missing", "The header Authorization is missing.");
  return caller;
};

export const startEdges = async (options: EdgesOptions = {}): Promise<Edges> => {
  const { maxBodyBytes = 10_485_760, trustedProxies = [], tls, invoke = () => ({}) } = options;
  const capacity = createCapacity({ clock: options.clock ?? systemClock, maxInFlight: 1_000, maxBodyBytes, ...options.capacity });
  const invocations: Invocation[] = [];
  const refused: { method: string | undefined; reason: Reason }[] = [];
  const faults: unknown[] = [];
  const pipeline: Pipeline = {
    authenticate: (call, find) => find(call),
    pathOf: (_call, { rootKeyId }) => [rootKeyId],
    holdBody: capacity.bodies.take,
    invoke: async (call, _caller, message, violations) => {
      const invocation = { call, message, violations };
      invocations.push(invocation);
      if (violations.length > 0) throw invalidInput("The request failed validation.", violations);
      return { ...(await invoke(invocation)), meta: { requestId: call.requestId } };
    },
  };
  const observer = {
    refused: (_edge: EdgeName, method: { readonly name: string } | undefined, reason: Reason) =>
      void refused.push({ method: method?.name, reason }),
    fault: (_requestId: string, error: unknown) => void faults.push(error),
  };
  const health = createHealthService(services);
  health.setState("serving");
  const shared = {
    services,
    pipeline,
    findCaller: options.authenticate ?? findCaller,
    clock: systemClock,
    errorsBaseUrl,
    maxBodyBytes,
    observer,
    health,
    publicStreams: createPublicStreams(capacity, createClientAddress(trustedProxies), options.unreadTimeout ?? 60_000),
    reflection: options.reflection ?? true,
    routes: compileRpcRoutes(services),
  };
  const handler = createDispatcher(createV2Edge(shared), createConnectEdge(shared));
  const listener = await createListener({
    host: "127.0.0.1",
    port: 0,
    tls,
    allowedNames: options.allowedNames,
    ...(options.onClientRefused && { onClientRefused: options.onClientRefused }),
    handler,
    streams: createGrpcEdge(shared),
    guards: createConnectionGuards(
      capacity,
      createClientAddress(trustedProxies),
      createIsProxy(trustedProxies),
      options.clock ?? systemClock,
    ),
    errorsBaseUrl,
    ...(options.linger === undefined ? {} : { linger: options.linger }),
    clock: systemClock,
    onFault: (error) => faults.push(error),
  });
  const { port } = listener.address;
  return {
    listener,
    port,
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    health,
    invocations,
    refused,
    faults,
    [Symbol.asyncDispose]: async () => {
      await listener.stop(0);
      if (faults.length > 0) throw new AggregateError(faults, "the edges reported faults");
    },
  };
};
