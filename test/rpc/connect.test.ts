import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { ErrorDetailSchema } from "../../gen/latchkey/v2/errors_pb.ts";
import { KeysService } from "../../gen/latchkey/v2/keys_pb.ts";
import { type Reason, reasons, ServiceError } from "../../src/platform/base/errors.ts";
import { errorStatus } from "../../src/platform/http/errorStatus.ts";
import { EdgeCall } from "../../src/platform/rpc/edges/edgeCall.ts";
import { eventually } from "../support/eventually.ts";
import { startEdges } from "./support/startEdges.ts";

const headers = { authorization: "Bearer lkr_x" };

/** Every protocol and form of a unary call. */
const transports: Readonly<Record<string, (baseUrl: string, more?: object) => Transport>> = {
  "Connect JSON, HTTP/1.1": (baseUrl, more) => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false, ...more }),
  "Connect binary, HTTP/1.1": (baseUrl, more) => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true, ...more }),
  "Connect binary, HTTP/2": (baseUrl, more) => createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true, ...more }),
  "gRPC-Web, HTTP/1.1": (baseUrl, more) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", ...more }),
  "gRPC-Web JSON, HTTP/2": (baseUrl, more) => createGrpcWebTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false, ...more }),
  gRPC: (baseUrl, more) => createGrpcTransport({ baseUrl, ...more }),
  "gRPC JSON": (baseUrl, more) => createGrpcTransport({ baseUrl, useBinaryFormat: false, ...more }),
};
const each = Object.entries(transports);

const failure = async (call: Promise<unknown>): Promise<ConnectError> => {
  try {
    await call;
  } catch (error) {
    if (error instanceof ConnectError) return error;
    throw error;
  }
  throw new Error("the call succeeded");
};

const violationsOf = (error: ConnectError) => error.findDetails(ErrorDetailSchema)[0]?.violations.map(({ location }) => location);

describe.each(each)("[grpc §1] %s", (_name, transport) => {
  test("a call reaches the pipeline and its answer the client, with the request id in both places", async () => {
    let remoteIp: string | undefined;
    await using edges = await startEdges({
      invoke: ({ call }) => {
        remoteIp = call.remoteIp;
        call.setHeader("RateLimit-Limit", "5");
        return { data: { valid: true, code: 1, expires: 9_007_199_254_740_991n, meta: JSON.parse('{"__proto__":{"a":[1]},"$x":null}') } };
      },
    });
    let responseHeaders = new Headers();
    const answer = await createClient(KeysService, transport(edges.url)).verifyKey(
      { key: "sk_1", tags: ["a"] },
      {
        headers: { ...headers, "idempotency-key": "k1", "user-agent": "me" },
        onHeader: (received) => {
          responseHeaders = received;
        },
      },
    );
    const [invocation] = edges.invocations;
    expect(invocation?.message).toMatchObject({ key: "sk_1", tags: ["a"] });
    expect([invocation?.call.authorization, invocation?.call.idempotencyKey]).toEqual([headers.authorization, "k1"]);
    expect(remoteIp).toBe("127.0.0.1");
    expect(answer.data?.expires).toBe(9_007_199_254_740_991n);
    expect(JSON.stringify(answer.data?.meta)).toBe('{"__proto__":{"a":[1]},"$x":null}');
    expect(answer.meta?.requestId).toBe(invocation?.call.requestId);
    expect(responseHeaders.get("x-request-id")).toBe(invocation?.call.requestId);
    expect(responseHeaders.get("ratelimit-limit")).toBe("5");
  });

  test("headers and trailers reach the client, with all values of a name, whatever the outcome", async () => {
    let fails = false;
    await using edges = await startEdges({
      invoke: ({ call }) => {
        call.setHeader("X-Header", "a");
        call.setHeader("X-Header", "b");
        call.setHeader("X-Header", "c");
        if (call instanceof EdgeCall) for (const value of ["d", "e"]) call.setTrailer("X-Trailer", value);
        return fails ? Promise.reject(new ServiceError("api_not_found", "no")) : { data: { valid: true, code: 1 } };
      },
    });
    const client = createClient(KeysService, transport(edges.url));
    const received = new Headers();
    const take = (more: Headers) => more.forEach((value, name) => void received.append(name, value));
    await client.verifyKey({ key: "k" }, { headers, onHeader: take, onTrailer: take });
    expect([received.get("x-header"), received.get("x-trailer")]).toEqual(["a, b, c", "d, e"]);
    fails = true;
    const { metadata } = await failure(client.verifyKey({ key: "k" }, { headers }));
    expect([metadata.get("x-header"), metadata.get("x-trailer") ?? metadata.get("trailer-x-trailer")]).toEqual(["a, b, c", "d, e"]);
  });

  test("errors carry code, detail and one ErrorDetail, and x-request-id", async () => {
    let reason: Reason = "api_not_found";
    await using edges = await startEdges({
      invoke: ({ call }) => {
        call.setHeader("Retry-After", "7");
        return Promise.reject(new ServiceError(reason, "Zoë's API api_1 is not there: 100 %."));
      },
    });
    const client = createClient(KeysService, transport(edges.url));
    for (reason of [
      "api_not_found",
      "workspace_rate_limited",
      "protected_resource",
      "service_unavailable",
      "identity_already_exists",
    ] as const) {
      const error = await failure(client.verifyKey({ key: "sk_1" }, { headers }));
      const { type } = reasons[reason];
      const { http: status, title, code } = errorStatus(reason);
      expect(Code[error.code]).toBe(Code[code]);
      expect(error.rawMessage).toBe("Zoë's API api_1 is not there: 100 %.");
      const requestId = edges.invocations.at(-1)?.call.requestId;
      expect(error.findDetails(ErrorDetailSchema)).toMatchObject([
        { title, httpStatus: status, requestId, type: `https://docs.example/latchkey/errors/${type}`, violations: [] },
      ]);
      expect(error.metadata.get("x-request-id")).toBe(requestId);
      expect(error.metadata.get("retry-after")).toBe("7");
    }
  });

  test("credentials come before the message, and violations have the locations of /v2", async () => {
    await using edges = await startEdges();
    const client = createClient(KeysService, transport(edges.url));
    const missing = await failure(client.verifyKey({}));
    expect([missing.code, missing.findDetails(ErrorDetailSchema)[0]?.httpStatus]).toEqual([Code.Unauthenticated, 401]);
    expect(edges.invocations).toEqual([]);
    const invalid = await failure(client.verifyKey({ tags: [""] }, { headers }));
    expect(invalid.code).toBe(Code.InvalidArgument);
    expect(violationsOf(invalid)).toEqual(["body.key", "body.tags[0]"]);
  });

  test("gzip is accepted and used, and limits hold before and after it", async () => {
    await using edges = await startEdges({
      maxBodyBytes: 20_000,
      invoke: () => ({ data: { valid: true, code: 1, name: "n".repeat(5000) } }),
    });
    const gzip = { sendCompression: compressionGzip, acceptCompression: [compressionGzip], compressMinBytes: 0 };
    const client = createClient(KeysService, transport(edges.url, gzip));
    const answer = await client.verifyKey({ key: "k", tags: ["t".repeat(500)] }, { headers });
    expect(answer.data?.name).toHaveLength(5000);
    expect(edges.invocations[0]?.message).toMatchObject({ tags: ["t".repeat(500)] });
    const bomb = await failure(client.verifyKey({ key: "k".repeat(30_000) }, { headers }));
    expect([bomb.code, bomb.findDetails(ErrorDetailSchema)[0]?.httpStatus]).toEqual([Code.ResourceExhausted, 413]);
    const large = await failure(createClient(KeysService, transport(edges.url)).verifyKey({ key: "k".repeat(30_000) }, { headers }));
    expect(large.code).toBe(Code.ResourceExhausted);
    expect(edges.invocations).toHaveLength(1);
  });

  test("the caller's deadline ends the call, and a cancelled call is abandoned", async () => {
    const reasons = new Map<unknown, ServiceError>();
    const entered = new Set<unknown>();
    await using edges = await startEdges({
      invoke: ({ message, call: { signal } }) =>
        new Promise((_, reject) => {
          const { key } = message as unknown as { key: string };
          entered.add(key);
          signal.addEventListener("abort", () => {
            reasons.set(key, signal.reason);
            reject(signal.reason);
          });
        }),
    });
    const client = createClient(KeysService, transport(edges.url));
    // A deadline that has passed before the call is there starts nothing.
    for (let timeoutMs = 100; !entered.has("late"); timeoutMs *= 2) {
      const late = await failure(client.verifyKey({ key: "late" }, { headers, timeoutMs }));
      expect(late.code).toBe(Code.DeadlineExceeded);
    }
    const controller = new AbortController();
    const cancelled = failure(client.verifyKey({ key: "gone" }, { headers, signal: controller.signal }));
    await eventually(() => expect(entered).toContain("gone"));
    controller.abort();
    expect((await cancelled).code).toBe(Code.Canceled);
    await eventually(() => expect([...reasons.keys()]).toEqual(expect.arrayContaining(["late", "gone"])));
    // The client gives up at its deadline too, so the first may be seen as either.
    expect(["request_timeout", "client_closed_request"]).toContain(reasons.get("late")?.reason);
    expect(reasons.get("gone")).toMatchObject({ reason: "client_closed_request" });
  });

  test("a deadline that has passed starts nothing", async () => {
    await using edges = await startEdges({
      authenticate: async (call) => {
        while (!call.signal.aborted) await new Promise((next) => setTimeout(next, 1));
        throw call.signal.reason;
      },
    });
    const error = await failure(createClient(KeysService, transport(edges.url)).verifyKey({ key: "k" }, { headers, timeoutMs: 20 }));
    expect(error.code).toBe(Code.DeadlineExceeded);
    expect(edges.invocations).toEqual([]);
  });

  test("an unexpected failure is internal and says nothing of itself", async () => {
    await using edges = await startEdges({ invoke: () => Promise.reject(new TypeError("secret internals")) });
    const error = await failure(createClient(KeysService, transport(edges.url)).verifyKey({ key: "k" }, { headers }));
    expect([error.code, error.rawMessage.includes("internals")]).toEqual([Code.Internal, false]);
    expect(error.findDetails(ErrorDetailSchema)[0]?.httpStatus).toBe(500);
    expect(edges.faults.splice(0)).toHaveLength(1);
  });

  test("very many violations and a very long detail still reach the client", async () => {
    await using edges = await startEdges({ invoke: () => Promise.reject(new ServiceError("api_not_found", `\ud800${"é".repeat(5000)}`)) });
    const client = createClient(KeysService, transport(edges.url));
    const many = await failure(client.verifyKey({ key: "k", ratelimits: Array.from({ length: 50 }, () => ({ cost: -1n })) }, { headers }));
    expect([many.code, violationsOf(many)?.[0]]).toEqual([Code.InvalidArgument, "body.ratelimits[0].name"]);
    const long = await failure(client.verifyKey({ key: "k" }, { headers }));
    expect([long.code, long.rawMessage.startsWith("\ufffdé")]).toEqual([Code.NotFound, true]);
  });
});
