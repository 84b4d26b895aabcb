import { setTimeout as delay } from "node:timers/promises";
import type { Message, MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { type Caller, unrestrictedGrants } from "../../src/platform/authorization/authorization.ts";
import { invalidInput, ServiceError } from "../../src/platform/base/errors.ts";
import { EdgeCall } from "../../src/platform/rpc/edges/edgeCall.ts";
import type { Pipeline, Response } from "../../src/platform/rpc/incomingCall.ts";
import { codeOf, type DescribeError } from "../../src/platform/rpc/wire/connectError.ts";
import { timeoutOf, wireOf } from "../../src/platform/rpc/wire/protocolWire.ts";
import {
  ConformanceService,
  type Error as ErrorDefinition,
  type Header,
  ConformancePayload_RequestInfoSchema as RequestInfoSchema,
  type UnaryRequest,
} from "./gen/connectrpc/conformance/v1/service_pb.ts";

type RequestInfo = MessageInitShape<typeof RequestInfoSchema>;

export const anybody: Caller = { rootKeyId: "rk_1", name: undefined, expires: undefined, grants: unrestrictedGrants };

/** The facts of a call that the suite wants back: its headers, deadline and message. */
const observe = (call: EdgeCall, message: Message): RequestInfo => {
  const headers = Object.entries(call.requestHeaders).filter(([name]) => !name.startsWith(":"));
  const wire = wireOf(call.requestHeaders["content-type"]);
  const timeout = wire && timeoutOf(wire, call.requestHeaders);
  return {
    requestHeaders: headers.map(([name, value]) => ({ name, value: [value ?? ""].flat() })),
    ...(typeof timeout === "number" && { timeoutMs: BigInt(Math.round(timeout)) }),
    requests: [anyPack(call.method.input, message)],
  };
};

/** The error that a request orders, with what was observed among its details. */
const ordered = ({ code, message, details }: ErrorDefinition, observed: RequestInfo): ServiceError => {
  // The codes have the numbers that gRPC gave them, here and there.
  const cause = new ConnectError(message ?? "", code as number);
  cause.details = [
    ...details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value })),
    { desc: RequestInfoSchema, value: observed },
  ];
  return new ServiceError("unexpected_error", cause.rawMessage, { cause });
};

const eachValue = (fields: readonly Header[], add: (name: string, value: string) => void): void => {
  for (const { name, value } of fields) for (const each of value) add(name, each);
};

const answer = async (call: EdgeCall, request: UnaryRequest): Promise<Response> => {
  const observed = observe(call, request);
  const { responseDefinition: definition } = request;
  if (definition === undefined) return { payload: { requestInfo: observed } };
  eachValue(definition.responseHeaders, (name, value) => call.setHeader(name, value));
  eachValue(definition.responseTrailers, (name, value) => call.setTrailer(name, value));
  if (definition.responseDelayMs > 0) {
    const { signal } = call;
    await delay(definition.responseDelayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
  const { response } = definition;
  if (response.case === "error") throw ordered(response.value, observed);
  return { payload: { requestInfo: observed, ...(response.case === "responseData" && { data: response.value }) } };
};

/** The unary part of the suite's service as a pipeline behind our edges, instead of Latchkey's procedures. */
export const conformancePipeline: Pipeline = {
  authenticate: (call, findCaller) => findCaller(call),
  pathOf: () => [],
  holdBody: () => ({ grow: () => true, pin: () => undefined, give: () => undefined }),
  invoke: (call, _caller, message, violations) => {
    if (violations.length > 0) throw invalidInput("The request cannot be read.", violations);
    if (!(call instanceof EdgeCall)) throw new Error("a call without headers");
    if (call.method !== ConformanceService.method.unary)
      throw new ServiceError("not_implemented", `${call.method.name} is not implemented.`);
    return answer(call, message as UnaryRequest);
  },
};

/** The suite counts details, so there are only those that were ordered. */
export const describeError: DescribeError = (error) =>
  error.cause instanceof ConnectError ? error.cause : new ConnectError(error.message, codeOf(error));
