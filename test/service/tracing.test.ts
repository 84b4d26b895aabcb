// @same-on-every-engine
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Edge } from "../../bench/harness/v2Edge.ts";
import { createLog } from "../../src/platform/telemetry/log.ts";
import { type Api, dataOf, expectError, startApi } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { eventually } from "../support/eventually.ts";
import { type FaultyStore, faultyStore } from "../support/faultyStore.ts";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "../support/otlpReceiver.ts";
import { engines } from "../support/stores.ts";

const CALLER_SPAN = "b7ad6b7169203331";

/** The trace context that a caller sends. */
const contextOf = (flags = "01") => {
  const traceId = randomBytes(16).toString("hex");
  return { traceId, headers: { traceparent: `00-${traceId}-${CALLER_SPAN}-${flags}`, tracestate: "vendor=x" } };
};

describe.each(engines)("on $name", (engine) => {
  const lines: Record<string, unknown>[] = [];
  let receiver: OtlpReceiver;
  let store: FaultyStore;
  let api: Api;
  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    store = faultyStore(await engine.open());
    api = await startApi(engine, {
      store,
      log: createLog("debug", { write: (line) => lines.push(JSON.parse(line)) }),
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20of-the-collector,x-tenant=one",
        OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG: "0",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test%2C%20here,service.name=other",
        OTEL_SERVICE_NAME: "keys",
      },
    });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
    await receiver.close();
  });

  const edgeOf = (name: Edge["name"]): Edge => api.edges.find((edge) => edge.name === name) ?? expect.unreachable(name);
  const [v2, grpc] = [() => edgeOf("v2"), () => edgeOf("grpc")];
  /** Calls in a trace of its own, and what the collector gets of it once it has the call's own span. */
  const traced = async (procedure: string, body: unknown, edge = v2(), rootKey: string | undefined = api.rootKey) => {
    const { traceId, headers } = contextOf();
    const answer = await edge.call(procedure, body, rootKey, { headers });
    return { traceId, answer, ...(await spansOf(traceId)) };
  };
  const spansOf = (traceId: string): Promise<{ server: ReceivedSpan; children: readonly ReceivedSpan[] }> =>
    eventually(() => {
      const spans = receiver.spans().filter((span) => span.traceId === traceId);
      const [server, ...more] = spans.filter(({ kind }) => kind === 2);
      if (server === undefined || more.length > 0) throw new Error(`${more.length + 1} spans of a server`);
      return { server, children: spans.filter(({ kind }) => kind === 3) };
    });
  const database = engine.name === "mongo" ? "mongodb" : "sqlite";

  test.concurrent.each(["v2", "connect", "grpc", "grpc-web", "grpc-js"] as const)(
    "a trace continues over %s, and into the store",
    async (name) => {
      const { server, children, answer } = await traced("apis.createApi", { name: `trace-${name}` }, edgeOf(name));
      expect(server.parentSpanId).toBe(CALLER_SPAN);
      expect(server.traceState).toBe("vendor=x");
      expect(server.isError).toBe(false);
      const edge = name === "grpc-js" ? "grpc" : name;
      const own = { "latchkey.edge": edge, "latchkey.outcome": "ok", "latchkey.request_id": answer.body.meta.requestId };
      const rpc = "latchkey.v2.ApisService/CreateApi";
      if (name === "v2") {
        expect(server.name).toBe("POST /v2/apis.createApi");
        expect(server.attributes).toEqual({
          "http.request.method": "POST",
          "http.route": "/v2/apis.createApi",
          "url.path": "/v2/apis.createApi",
          "url.scheme": "http",
          "http.response.status_code": 200,
          ...own,
        });
      } else {
        expect(server.name).toBe(rpc);
        expect(server.attributes).toEqual({
          "rpc.system.name": name === "connect" ? "connectrpc" : "grpc",
          "rpc.method": rpc,
          ...(name !== "connect" && { "rpc.status_code": "OK" }),
          ...own,
        });
      }
      expect(new Set(children.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([server.spanId]));
      const insert = children.find((span) => span.name === "insertOne apis");
      expect(insert?.attributes).toEqual({
        "db.system.name": database,
        "db.operation.name": "insertOne",
        "db.collection.name": "apis",
      });
    },
  );

  test.concurrent("a trace continues over the console, too", async () => {
    const { traceId, headers } = contextOf();
    const page = { "x-latchkey-ui": "1", "sec-fetch-site": "same-origin", "content-type": "application/json", ...headers };
    const response = await fetch(`${api.url}/ui/rpc/latchkey.v2.ApisService/CreateApi`, { method: "POST", headers: page, body: "{}" });
    expect(response.status).toBe(401);
    const { server } = await spansOf(traceId);
    expect(server).toMatchObject({
      name: "latchkey.v2.ApisService/CreateApi",
      parentSpanId: CALLER_SPAN,
      isError: false,
      attributes: { "rpc.system.name": "connectrpc", "rpc.status_code": "unauthenticated", "latchkey.edge": "console" },
    });
  });

  test.concurrent("attributes that all spans of a node share, and the requests to the collector", async () => {
    const { server } = await traced("apis.listKeys", { apiId: "api_unknown" });
    expect(server.resource).toMatchObject({
      "service.name": "keys",
      "deployment.environment.name": "test, here",
      "service.version": expect.any(String),
    });
    expect(receiver.requests[0]).toMatchObject({
      path: "/v1/traces",
      headers: { "content-type": "application/x-protobuf", authorization: "Bearer of-the-collector", "x-tenant": "one" },
    });
  });

  test.concurrent("a call that its caller does not trace is not traced, nor one without a context at a ratio of 0", async () => {
    const unsampled = contextOf("00");
    dataOf(await v2().call("apis.createApi", { name: "unsampled" }, api.rootKey, { headers: unsampled.headers }));
    dataOf(await v2().call("apis.createApi", { name: "no context" }, api.rootKey));
    await traced("apis.createApi", { name: "sampled" });
    expect(receiver.spans().filter(({ traceId }) => traceId === unsampled.traceId)).toEqual([]);
    expect(receiver.spans().filter(({ parentSpanId }) => parentSpanId === "")).toEqual([]);
  });

  test.concurrent("a context that is malformed counts as none", async () => {
    const malformed = [
      "",
      "nonsense",
      `00-${"0".repeat(32)}-${CALLER_SPAN}-01`,
      `00-${"a".repeat(32)}-${"0".repeat(16)}-01`,
      `00-${"A".repeat(32)}-${CALLER_SPAN}-01`,
      `00-${"a".repeat(32)}-${CALLER_SPAN}-01-more`,
      `ff-${"a".repeat(32)}-${CALLER_SPAN}-01`,
      `00-${"a".repeat(31)}-${CALLER_SPAN}-01`,
      `00-${"a".repeat(32)}-${CALLER_SPAN}-01, 00-${"b".repeat(32)}-${CALLER_SPAN}-01`,
      "9".repeat(5_000),
    ];
    for (const traceparent of malformed)
      for (const edge of [v2(), grpc()])
        dataOf(await edge.call("apis.createApi", { name: "malformed" }, api.rootKey, { headers: { traceparent } }));
    await traced("apis.createApi", { name: "behind them" });
    const known = new Set(["0", "a", "b"].map((digit) => digit.repeat(32)));
    expect(receiver.spans().filter(({ traceId }) => known.has(traceId))).toEqual([]);
  });

  test.concurrent("a refusal is no error of the service, on no edge", async () => {
    for (const edge of [v2(), grpc()]) {
      const { server, answer } = await traced("keys.getKey", { keyId: "key_unknown" }, edge);
      expectError(answer, 404, "key_not_found");
      expect(server.isError).toBe(false);
      const status = edge.name === "v2" ? { "http.response.status_code": 404 } : { "rpc.status_code": "NOT_FOUND" };
      expect(server.attributes).toMatchObject({ ...status, "latchkey.outcome": "key_not_found" });
      expect(server.attributes).not.toHaveProperty("error.type");
    }
  });

  test.concurrent("a call that its edge refuses ends its span, too", async () => {
    const stranger = await traced("keys.getKey", { keyId: "key_1" }, v2(), "nobody");
    expect(stranger.server.attributes["latchkey.outcome"]).toBe("authentication_key_not_found");
    const { traceId, headers } = contextOf();
    await request(api.url, "keys.getKey", { rootKey: api.rootKey, headers, body: "{" });
    const { server } = await spansOf(traceId);
    expect(server.attributes).toMatchObject({ "http.response.status_code": 400 });
  });

  test("a failure of the store is one of its operation and of the call, and the log names both", async () => {
    const { apiId } = dataOf(await v2().call("apis.createApi", { name: "failing" }, api.rootKey));
    store.behave("fails");
    const { traceId, headers } = contextOf();
    const answer = await v2().call("keys.createKey", { apiId }, api.rootKey, { headers });
    store.behave("well");
    expectError(answer, 503, "service_unavailable");
    const { server, children } = await spansOf(traceId);
    expect(server.isError).toBe(true);
    expect(server.attributes).toMatchObject({
      "http.response.status_code": 503,
      "error.type": "service_unavailable",
      "latchkey.outcome": "service_unavailable",
    });
    const failed = children.filter(({ isError }) => isError);
    expect(failed[0]?.attributes["error.type"]).toBe("StoreUnavailableError");
    const named = lines.filter(({ msg, trace_id: id }) => msg === "call failed" && id === traceId);
    expect(named).toMatchObject([{ span_id: server.spanId, requestId: answer.body.meta.requestId }]);
    await eventually(async () => dataOf(await v2().call("apis.createApi", { name: "well" }, api.rootKey)));
  });

  test.concurrent("log lines of a traced call name it, and others name none", async () => {
    const { traceId, server, answer } = await traced("apis.createApi", { name: "logged" });
    const untraced = await v2().call("apis.createApi", { name: "logged" }, api.rootKey);
    const lineOf = (id: string) => lines.find(({ msg, requestId }) => msg === "call ended" && requestId === id);
    expect(lineOf(answer.body.meta.requestId)).toMatchObject({ trace_id: traceId, span_id: server.spanId });
    expect(lineOf(untraced.body.meta.requestId)).not.toHaveProperty("trace_id");
  });

  test("no byte that is sent holds a key, a secret, an identifier, or what a caller put into an object or a header", async () => {
    const secret = "canary7f3";
    const rootKey = await api.createRootKey();
    const { apiId } = dataOf(await v2().call("apis.createApi", { name: `${secret}-api` }, rootKey));
    const made = { apiId, name: `${secret}-name`, externalId: `${secret}-external`, meta: { note: `${secret}-meta` } };
    const headers = () => ({ ...contextOf().headers, "user-agent": `${secret}-agent`, "x-forwarded-for": "203.0.113.77" });
    const calls: [string, unknown][] = [
      ["keys.whoami", { key: `${secret}-whoami` }],
      ["identities.createIdentity", { externalId: `${secret}-identity`, meta: { note: secret } }],
      ["ratelimit.limit", { namespace: `${secret}-namespace`, identifier: `${secret}-identifier`, limit: 5, duration: 60_000 }],
      ["permissions.createPermission", { name: `${secret}.permission`, slug: `${secret}.permission` }],
      ["keys.verifyKey", { key: `${secret}-unknown-key` }],
    ];
    for (const edge of [v2(), grpc()]) {
      const { key, keyId } = dataOf(await edge.call("keys.createKey", made, rootKey, { headers: headers() })) as Record<string, string>;
      const own: [string, unknown][] = [
        ["keys.verifyKey", { key }],
        ["keys.updateKey", { keyId, name: `${secret}-renamed` }],
      ];
      for (const [procedure, body] of [...own, ...calls]) await edge.call(procedure, body, rootKey, { headers: headers() });
      await traced("apis.createApi", { name: "last" });
      const sent = Buffer.concat(receiver.bodies).toString("latin1");
      expect(sent).toContain("keys.verifyKey");
      for (const unwanted of [secret, rootKey, rootKey.slice(8, 20), key, keyId, apiId, "203.0.113.77"])
        expect(sent.includes(String(unwanted)), String(unwanted)).toBe(false);
    }
  });

  test("background work is in no trace, and every operation of a call is in the call's trace", () => {
    const spans = receiver.spans();
    const servers = new Set(spans.filter(({ kind }) => kind === 2).map(({ traceId, spanId }) => `${traceId} ${spanId}`));
    const children = spans.filter(({ kind }) => kind === 3);
    expect(children.length).toBeGreaterThan(20);
    expect(children.filter(({ traceId, parentSpanId }) => !servers.has(`${traceId} ${parentSpanId}`))).toEqual([]);
  });
  test("a collector that hangs keeps neither calls nor the end of the service waiting, and is one line of the log for each cause", async () => {
    receiver.behave("hang");
    for (let i = 0; i < 50; i++) {
      const { headers } = contextOf();
      expectError(await v2().call("keys.getKey", { keyId: "key_unknown" }, api.rootKey, { headers }), 404, "key_not_found");
    }
    await api.close();
    const causes = lines.filter(({ msg, level }) => msg === "trace spans dropped" && level === "warn").map(({ cause }) => cause);
    expect(causes.length).toBeGreaterThan(0);
    expect(new Set(causes).size).toBe(causes.length);
  });
});
