import type { DescMethodUnary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { isServiceFault } from "../base/errors.ts";
import { errorStatus } from "../http/errorStatus.ts";
import type { CallOutcome, EdgeName } from "../telemetry/callMetrics.ts";
import type { SpanAttributes, SpanDescription, Tracer } from "../telemetry/tracing/tracer.ts";
import type { IncomingCall, Pipeline } from "./incomingCall.ts";
import { procedureName } from "./procedureName.ts";

/** What of OpenTelemetry's conventions an edge follows: on `/v2` those of HTTP, everywhere else those of RPC. */
type Conventions = "http" | "grpc" | "connectrpc";

const conventionsOf: Readonly<Record<EdgeName, Conventions>> = {
  v2: "http",
  grpc: "grpc",
  "grpc-web": "grpc",
  connect: "connectrpc",
  console: "connectrpc",
};

const describe = (edge: EdgeName, method: DescMethodUnary, scheme: string): SpanDescription => {
  const conventions = conventionsOf[edge];
  if (conventions === "http") {
    const route = `/v2/${procedureName(method)}`;
    const request = { "http.request.method": "POST", "http.route": route, "url.path": route, "url.scheme": scheme };
    return { name: `POST ${route}`, attributes: { ...request, "latchkey.edge": edge } };
  }
  const name = `${method.parent.typeName}/${method.name}`;
  return { name, attributes: { "rpc.system.name": conventions, "rpc.method": name, "latchkey.edge": edge } };
};

/** Codes that gRPC counts as the server's failures. */
const failures: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

/** As gRPC writes it. */
const grpcStatus = (code: Code): string => (code === Code.Canceled ? "CANCELLED" : codeToString(code).toUpperCase());

const statusOf = (conventions: Conventions, outcome: CallOutcome): SpanAttributes => {
  const failed = outcome === "ok" ? undefined : errorStatus(outcome);
  if (conventions === "http") return { "http.response.status_code": failed?.http ?? 200 };
  if (conventions === "grpc") return { "rpc.status_code": failed === undefined ? "OK" : grpcStatus(failed.code) };
  return failed === undefined ? {} : { "rpc.status_code": codeToString(failed.code) };
};

/** The reason, where the conventions count that as an error of the server. */
const errorOf = (conventions: Conventions, outcome: CallOutcome): string | undefined => {
  if (outcome === "ok") return undefined;
  const isError = conventions === "http" ? isServiceFault(outcome) : failures.has(errorStatus(outcome).code);
  return isError ? outcome : undefined;
};

export interface TraceOptions {
  readonly tracer: Pick<Tracer, "begin">;
  /** Of the service's port. */
  readonly scheme: "http" | "https";
}

/** The same pipeline, in which a call that is sampled has a span: it begins here, and whoever answers the call ends it. */
export const tracePipeline = (pipeline: Pipeline, { tracer, scheme }: TraceOptions): Pipeline => {
  const descriptions = new Map<DescMethodUnary, Map<EdgeName, SpanDescription>>();
  const descriptionOf = ({ edge, method }: IncomingCall): SpanDescription =>
    descriptions.getOrInsertComputed(method, () => new Map()).getOrInsertComputed(edge, () => describe(edge, method, scheme));

  const begin = (call: IncomingCall): IncomingCall["span"] => {
    const span = tracer.begin(descriptionOf(call), call, call.requestId);
    if (span === undefined) return undefined;
    const conventions = conventionsOf[call.edge];
    return {
      run: span.run,
      end: (outcome) => span.end({ ...statusOf(conventions, outcome), "latchkey.outcome": outcome }, errorOf(conventions, outcome)),
    };
  };

  return {
    ...pipeline,
    authenticate: (call, findCaller) => {
      call.span = begin(call);
      const authenticate = () => pipeline.authenticate(call, findCaller);
      return call.span === undefined ? authenticate() : call.span.run(authenticate);
    },
    invoke: (call, caller, message, violations) => {
      const invoke = () => pipeline.invoke(call, caller, message, violations);
      return call.span === undefined ? invoke() : call.span.run(invoke);
    },
  };
};
