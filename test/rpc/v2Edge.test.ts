import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, test } from "vitest";
import { type Reason, ServiceError } from "../../src/platform/base/errors.ts";
import { openRaw, parseResponse } from "./support/rawConnection.ts";
import { type Edges, startEdges } from "./support/startEdges.ts";

interface Envelope {
  readonly meta: { readonly requestId: string };
  readonly data?: unknown;
  readonly error?: {
    readonly title: string;
    readonly detail: string;
    readonly status: number;
    readonly type: string;
    readonly errors?: readonly { readonly location: string }[];
  };
}

const headers = { authorization: "Bearer lkr_x", "content-type": "application/json" };
const verify = "/v2/keys.verifyKey";
const validKey = JSON.stringify({ key: "sk_1" });
const answered = { data: { valid: true, code: 1 } };

const post = (
  edges: Edges,
  path: string,
  body: string | Uint8Array<ArrayBuffer> = validKey,
  more: Record<string, string> = {},
): Promise<Response> => fetch(edges.url + path, { method: "POST", headers: { ...headers, ...more }, body });

const envelope = async (response: Response): Promise<Envelope> => (await response.json()) as Envelope;

const requestId = /^req_[A-Za-z0-9_-]{16,}$/;

describe("[protocol §5] envelopes", () => {
  test("success is the response as the codec writes it", async () => {
    await using edges = await startEdges({
      invoke: () => ({ data: { valid: true, code: 1, name: "Zoë 🔑", expires: 1_750_000_000_000n } }),
    });
    const response = await post(edges, verify);
    expect(await response.json()).toEqual({
      meta: { requestId: edges.invocations[0]?.call.requestId },
      data: { valid: true, code: "VALID", name: "Zoë 🔑", expires: 1_750_000_000_000 },
    });
  });

  test("400, 408, 413 and 499 have errors, others do not", async () => {
    let reason: Reason = "invalid_input";
    await using edges = await startEdges({ invoke: () => Promise.reject(new ServiceError(reason, "No.")) });
    const errorsOf = async (next: Reason) => {
      reason = next;
      const response = await post(edges, verify);
      return [response.status, (await envelope(response)).error?.errors];
    };
    expect(await errorsOf("invalid_input")).toEqual([400, []]);
    expect(await errorsOf("permissions_query_syntax_error")).toEqual([400, []]);
    expect(await errorsOf("request_timeout")).toEqual([408, []]);
    expect(await errorsOf("client_closed_request")).toEqual([499, []]);
    expect(await errorsOf("request_body_too_large")).toEqual([413, []]);
    for (const other of ["insufficient_permissions", "api_not_found", "protected_resource", "service_unavailable"] as const) {
      expect((await errorsOf(other))[1]).toBeUndefined();
    }
  });

  test("request ids are new for every request and never the client's", async () => {
    await using edges = await startEdges({ invoke: () => answered });
    const ids = new Set<string>();
    for (let i = 0; i < 20; i++) {
      const response = await post(edges, i % 2 ? verify : "/nowhere", validKey, { "x-request-id": "req_mine" });
      ids.add((await envelope(response)).meta.requestId);
    }
    expect(ids.size).toBe(20);
    expect([...ids].every((id) => requestId.test(id) && id !== "req_mine")).toBe(true);
  });

  test("401 names the scheme, and headers of the pipeline are on success and failure", async () => {
    await using edges = await startEdges({
      invoke: ({ call }) => {
        call.setHeader("RateLimit-Limit", "5");
        return call.userAgent === "fail" ? Promise.reject(new ServiceError("api_not_found", "No.")) : answered;
      },
    });
    expect((await fetch(edges.url + verify, { method: "POST" })).headers.get("www-authenticate")).toBe("Bearer");
    for (const agent of ["ok", "fail"]) {
      const response = await post(edges, verify, validKey, { "user-agent": agent });
      expect([agent, response.headers.get("ratelimit-limit")]).toEqual([agent, "5"]);
    }
  });

  test("an error that is not a ServiceError is a 500 without its message", async () => {
    await using edges = await startEdges({ invoke: () => Promise.reject(new TypeError("secret internals")) });
    const response = await post(edges, verify);
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).not.toContain("internals");
    expect(edges.faults.splice(0)).toMatchObject([{ message: "secret internals" }]);
  });

  test("a response that cannot be written is a 500", async () => {
    await using edges = await startEdges({ invoke: () => ({ data: { valid: true, code: 1, expires: "soon" } }) });
    expect((await post(edges, verify)).status).toBe(500);
    expect(edges.faults.splice(0)).toHaveLength(1);
  });
});

test("[protocol §1] HTTP/2 is answered alike", async () => {
  await using edges = await startEdges({
    invoke: ({ call }) => (call.idempotencyKey === "bad" ? Promise.reject(new ServiceError("api_not_found", "No.")) : answered),
  });
  const session = connectHttp2(edges.url);
  const ask = async (method: string, path: string, body?: string, more: Record<string, string> = {}) => {
    const stream = session.request({ ":method": method, ":path": path, ...headers, accept: "*/*", ...more });
    stream.end(body);
    const [head] = await once(stream, "response");
    let text = "";
    for await (const chunk of stream) text += chunk;
    expect(head["content-length"]).toBe(String(method === "HEAD" ? head["content-length"] : Buffer.byteLength(text)));
    return [head[":status"], head["content-type"], head.allow, text === "" ? undefined : JSON.parse(text).error?.title];
  };
  const problem = "application/problem+json";
  expect(await ask("POST", verify, validKey)).toEqual([200, "application/json", undefined, undefined]);
  expect(await ask("POST", verify, "{}")).toEqual([400, problem, undefined, "Bad Request"]);
  expect(await ask("POST", verify, validKey, { "idempotency-key": "bad" })).toEqual([404, problem, undefined, "Not Found"]);
  expect(await ask("GET", verify)).toEqual([405, problem, "POST", "Method Not Allowed"]);
  expect(await ask("HEAD", verify)).toEqual([405, problem, "POST", undefined]);
  expect(await ask("GET", "/nowhere?x")).toEqual([404, problem, undefined, "Not Found"]);
  expect(await ask("GET", "/v2/liveness")).toEqual([200, "application/json", undefined, undefined]);
  session.destroy();
});

test("[protocol §5] an answer that cannot be sent ends its connection, not the service", async () => {
  await using edges = await startEdges({
    invoke: ({ call }) => {
      call.setHeader("X-Broken", "line\nbreak");
      return answered;
    },
  });
  await expect(post(edges, verify)).rejects.toThrow();
  expect(edges.faults.splice(0)).toHaveLength(2);
  expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
});

describe("[protocol §2] order of checks", () => {
  test("path and method come before credentials, credentials before everything in the body", async () => {
    await using edges = await startEdges({ maxBodyBytes: 10 });
    const bare = (path: string, method = "POST") => fetch(edges.url + path, { method, body: method === "POST" ? "x".repeat(20) : null });
    expect((await bare("/v2/keys.nothing")).status).toBe(404);
    expect((await bare(verify, "GET")).status).toBe(405);
    expect((await bare(verify)).status).toBe(401);
    expect(edges.invocations).toEqual([]);
  });

  test("size comes before content type, content type before JSON, and nothing before the pipeline's own first step", async () => {
    await using edges = await startEdges({ maxBodyBytes: 10 });
    expect((await post(edges, verify, "x".repeat(11), { "content-type": "text/plain" })).status).toBe(413);
    const response = await post(edges, verify, "not json", { "content-type": "text/plain" });
    expect((await envelope(response)).error?.errors).toMatchObject([{ location: "header.Content-Type" }]);
    expect(edges.invocations).toHaveLength(1);
  });

  test("the body is not waited for when the credentials are refused", async () => {
    await using edges = await startEdges();
    const head = `POST ${verify} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n\r\n{`;
    const connection = await openRaw(edges.port);
    await connection.send(head);
    expect(parseResponse(await connection.until(/\}$/)).status).toBe(401);
    connection.socket.destroy();
  });
});

describe("[protocol §3, §6] bodies", () => {
  test("all violations of a body reach the pipeline at once, with the message's procedure", async () => {
    await using edges = await startEdges();
    const response = await post(edges, "/v2/ratelimit.limit", JSON.stringify({ namespace: 5, limit: 0, foo: 1 }));
    expect(response.status).toBe(400);
    const { error } = await envelope(response);
    const locations = (error?.errors ?? []).map(({ location }) => location);
    expect(locations.sort()).toEqual(["body.duration", "body.foo", "body.identifier", "body.limit", "body.namespace"]);
    expect(edges.invocations[0]?.call.method.name).toBe("Limit");
  });

  test.each(["", "   ", "{", "{}x", "{'a':1}", "{a:1}", "NaN", "/* c */{}"])(
    "undecodable body %j is one violation at body, with a fix",
    async (body) => {
      await using edges = await startEdges();
      const response = await post(edges, verify, body);
      expect((await envelope(response)).error?.errors).toEqual([
        { location: "body", message: expect.any(String), fix: expect.any(String) },
      ]);
    },
  );

  test("multiLimit takes an array, everything else an object", async () => {
    await using edges = await startEdges({ invoke: () => ({ data: { passed: true, limits: [] } }) });
    const entry = { namespace: "a", identifier: "b", limit: 1, duration: 1000 };
    expect((await post(edges, "/v2/ratelimit.multiLimit", JSON.stringify([entry]))).status).toBe(200);
    const wrong = await post(edges, "/v2/ratelimit.multiLimit", JSON.stringify([entry, { ...entry, limit: 0 }]));
    expect((await envelope(wrong)).error?.errors).toMatchObject([{ location: "body[1].limit" }]);
    expect((await post(edges, "/v2/ratelimit.multiLimit", JSON.stringify({ entries: [entry] }))).status).toBe(400);
    expect((await post(edges, verify, "[]")).status).toBe(400);
  });
});
