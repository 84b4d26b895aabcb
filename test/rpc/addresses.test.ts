import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { type Reason, ServiceError } from "../../src/platform/base/errors.ts";
import { procedureName } from "../../src/platform/rpc/procedureName.ts";
import { services } from "../../src/service/services.ts";
import { exchange, parseResponse } from "./support/rawConnection.ts";
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

describe("[protocol §1] address, method, media types", () => {
  test("every procedure of the descriptors is served at /v2/<namespace>.<procedure>", async () => {
    await using edges = await startEdges();
    const names = services.flatMap((service) => service.methods).map(procedureName);
    expect(names).toContain("rootKeys.createKey");
    for (const name of names) {
      const response = await fetch(`${edges.url}/v2/${name}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      expect([name, response.status]).toEqual([name, 401]);
    }
  });

  test.each([
    "/v2/keys.verifykey",
    "/v2/keys/verifyKey",
    "/v2/keys.verifyKey/",
    "/v2/keys.verifyKey%20",
    "/v2/Keys.verifyKey",
    "/v1/keys.verifyKey",
    "/",
    "/v2/",
    "/v2/__proto__.x",
    "/v2/constructor",
    "//v2/keys.verifyKey",
    "/v2/liveness/",
    "/?/v2/keys.verifyKey",
  ])("%s is 404 procedure_not_found, with and without credentials", async (path) => {
    await using edges = await startEdges();
    for (const response of [await post(edges, path), await fetch(edges.url + path)]) {
      const { meta, error } = await envelope(response);
      expect(response.status).toBe(404);
      expect(meta.requestId).toMatch(requestId);
      expect(error).toEqual({
        title: "Not Found",
        detail: expect.any(String),
        status: 404,
        type: "https://docs.example/latchkey/errors/unkey/application/procedure_not_found",
      });
    }
    expect(edges.refused).toEqual([1, 2].map(() => ({ method: undefined, reason: "procedure_not_found" })));
  });

  test.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s on a procedure is 405 with Allow: POST", async (method) => {
    await using edges = await startEdges();
    const response = await fetch(edges.url + verify, { method, headers });
    const { meta, error } = await envelope(response);
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
    expect(meta.requestId).toMatch(requestId);
    expect(error?.title).toBe("Method Not Allowed");
    expect(error?.type).toMatch(/\/errors\/unkey\/application\/method_not_allowed$/);
  });

  test("HEAD has no body, on a procedure, elsewhere and on liveness", async () => {
    await using edges = await startEdges();
    const answers = [];
    for (const path of [verify, "/nowhere", "/v2/liveness"]) {
      const response = await fetch(edges.url + path, { method: "HEAD" });
      answers.push([response.status, response.headers.get("allow"), await response.text()]);
    }
    expect(answers).toEqual([
      [405, "POST", ""],
      [404, null, ""],
      [405, "GET", ""],
    ]);
  });

  test("liveness is GET only, and needs neither credentials nor the store", async () => {
    await using edges = await startEdges();
    const response = await fetch(`${edges.url}/v2/liveness?x=1`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({ meta: { requestId: expect.stringMatching(requestId) }, data: { message: "OK" } });
    const refused = await post(edges, "/v2/liveness");
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET"]);
    expect(edges.invocations).toEqual([]);
  });

  test("the query string is ignored, and an absolute request target is understood", async () => {
    await using edges = await startEdges({ invoke: () => answered });
    expect((await post(edges, `${verify}?key=other&x`)).status).toBe(200);
    const head = `POST http://other.example${verify}?y HTTP/1.1\r\nHost: other.example\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\n`;
    const { text } = await exchange(edges.port, `${head}Connection: close\r\nContent-Length: ${validKey.length}\r\n\r\n${validKey}`);
    expect(parseResponse(text).status).toBe(200);
    expect(edges.invocations.map(({ message }) => message)).toMatchObject([{ key: "sk_1" }, { key: "sk_1" }]);
  });

  test.each(["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/json;x=y"])(
    "%s is accepted",
    async (type) => {
      await using edges = await startEdges({ invoke: () => answered });
      expect((await post(edges, verify, validKey, { "content-type": type })).status).toBe(200);
    },
  );

  test.each([
    undefined,
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "application/jsonx",
    "application/json, text/plain",
  ])("content type %s is one violation at header.Content-Type", async (type) => {
    await using edges = await startEdges();
    const { "content-type": _, ...rest } = headers;
    const sent = type === undefined ? rest : { ...rest, "content-type": type };
    const response = await fetch(edges.url + verify, { method: "POST", headers: sent, body: new TextEncoder().encode("{") });
    expect(response.status).toBe(400);
    expect((await envelope(response)).error?.errors).toMatchObject([{ location: "header.Content-Type" }]);
  });

  test("a content encoding is refused, identity is not", async () => {
    await using edges = await startEdges({ invoke: () => answered });
    const response = await post(edges, verify, gzipSync(validKey), { "content-encoding": "gzip" });
    expect((await envelope(response)).error?.errors).toMatchObject([{ location: "header.Content-Encoding" }]);
    expect((await post(edges, verify, validKey, { "content-encoding": "identity" })).status).toBe(200);
  });

  test("success is application/json whatever the request accepts, without CORS, cookies or a server's name", async () => {
    await using edges = await startEdges({ invoke: () => answered });
    const response = await post(edges, verify, validKey, { accept: "application/problem+json", origin: "https://app.example" });
    expect(response.headers.get("content-type")).toBe("application/json");
    for (const name of ["access-control-allow-origin", "set-cookie", "x-powered-by", "server", "cache-control"]) {
      expect([name, response.headers.get(name)]).toEqual([name, null]);
    }
  });

  test.each([
    ["application/problem+json", "application/problem+json"],
    ["text/html, application/problem+json;q=0.5", "application/problem+json"],
    ["application/*", "application/problem+json"],
    ["*/*", "application/problem+json"],
    ["application/json", "application/json"],
    ["text/html", "application/json"],
  ])("an error for Accept: %s is %s", async (accept, type) => {
    await using edges = await startEdges();
    const invalid = await post(edges, verify, "{}", { accept });
    const missing = await fetch(`${edges.url}/nowhere`, { headers: { accept } });
    expect([invalid, missing].map((response) => response.headers.get("content-type"))).toEqual([type, type]);
  });

  test.each([
    [verify, "workspace_rate_limited", "application/problem+json"],
    ["/v2/permissions.updatePermission", "workspace_rate_limited", "application/json"],
    ["/v2/permissions.updateRole", "workspace_rate_limited", "application/json"],
    ["/v2/identities.deleteIdentity", "workspace_rate_limited", "application/problem+json"],
    ["/v2/identities.deleteIdentity", "identity_not_found", "application/problem+json"],
    ["/v2/identities.getIdentity", "identity_not_found", "application/json"],
  ])("%s answers %s as %s to a client that accepts JSON only", async (path, reason, type) => {
    const failing = () => Promise.reject(new ServiceError(reason as Reason, "No."));
    await using edges = await startEdges({ authenticate: failing });
    const response = await post(edges, path, "{}", { accept: "application/json" });
    expect(response.headers.get("content-type")).toBe(type);
  });

  test("answers that hold secrets are not to be stored", async () => {
    await using edges = await startEdges({ invoke: () => ({ data: { keyId: "key_1", key: "sk_1" } }) });
    const response = await post(edges, "/v2/keys.createKey", JSON.stringify({ apiId: "api_1" }));
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
  });
});
