import { expect, test } from "vitest";
import { KeysService } from "../../gen/latchkey/v2/keys_pb.ts";
import { type Caller, unrestrictedGrants } from "../../src/platform/authorization/authorization.ts";
import type { IncomingCall, Pipeline } from "../../src/platform/rpc/incomingCall.ts";
import { tracePipeline } from "../../src/platform/rpc/traceCalls.ts";
import type { CallOutcome, EdgeName } from "../../src/platform/telemetry/callMetrics.ts";
import type { SpanAttributes } from "../../src/platform/telemetry/tracing/tracer.ts";

const caller: Caller = { rootKeyId: "rk_1", name: undefined, expires: undefined, grants: unrestrictedGrants };

/** The span of a call on an edge with this outcome. */
const spanOf = (edge: EdgeName, outcome: CallOutcome) => {
  const told: { name?: string; attributes?: SpanAttributes; error?: string | undefined } = {};
  const inner: Pipeline = {
    authenticate: () => caller,
    pathOf: () => [],
    holdBody: () => undefined,
    invoke: () => ({}),
  };
  const pipeline = tracePipeline(inner, {
    scheme: "https",
    tracer: {
      begin: ({ name, attributes }) => {
        told.name = name;
        return { run: (part) => part(), end: (more, error) => void Object.assign(told, { attributes: { ...attributes, ...more }, error }) };
      },
    },
  });
  const call = { edge, method: KeysService.method.verifyKey, requestId: "req_1", traceparent: undefined, tracestate: undefined };
  const begun = { ...call, span: undefined } as unknown as IncomingCall;
  void pipeline.authenticate(begun, () => caller);
  begun.span?.end(outcome);
  return told;
};

test("names and first attributes are those of the conventions", () => {
  expect(spanOf("v2", "ok")).toMatchObject({ name: "POST /v2/keys.verifyKey", attributes: { "url.scheme": "https" } });
  for (const edge of ["grpc", "grpc-web", "connect", "console"] as const)
    expect(spanOf(edge, "ok")).toMatchObject({ name: "latchkey.v2.KeysService/VerifyKey", attributes: { "latchkey.edge": edge } });
});

test.each<[CallOutcome, number, string]>([
  ["ok", 200, "OK"],
  ["invalid_input", 400, "INVALID_ARGUMENT"],
  ["authentication_key_not_found", 401, "UNAUTHENTICATED"],
  ["key_not_found", 404, "NOT_FOUND"],
  ["client_closed_request", 499, "CANCELLED"],
  ["workspace_rate_limited", 429, "RESOURCE_EXHAUSTED"],
])("%s is no error of the service", (outcome, http, code) => {
  const expected = (attributes: SpanAttributes) => ({
    error: undefined,
    attributes: expect.objectContaining({ ...attributes, "latchkey.outcome": outcome }),
  });
  expect(spanOf("v2", outcome)).toMatchObject(expected({ "http.response.status_code": http }));
  expect(spanOf("grpc", outcome)).toMatchObject(expected({ "rpc.status_code": code }));
});

test("a failure of the service is an error, by each edge's conventions", () => {
  expect(spanOf("v2", "unexpected_error")).toMatchObject({ error: "unexpected_error", attributes: { "http.response.status_code": 500 } });
  expect(spanOf("grpc-web", "service_unavailable")).toMatchObject({
    error: "service_unavailable",
    attributes: { "rpc.system.name": "grpc", "rpc.status_code": "UNAVAILABLE" },
  });
  expect(spanOf("v2", "request_timeout").error).toBeUndefined();
  expect(spanOf("grpc", "request_timeout")).toMatchObject({
    error: "request_timeout",
    attributes: { "rpc.status_code": "DEADLINE_EXCEEDED" },
  });
  expect(spanOf("console", "client_closed_request")).toMatchObject({
    error: undefined,
    attributes: { "rpc.system.name": "connectrpc", "rpc.status_code": "canceled" },
  });
  expect(spanOf("connect", "ok").attributes).not.toHaveProperty("rpc.status_code");
});
