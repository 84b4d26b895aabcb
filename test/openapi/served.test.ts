// @same-on-every-engine
import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { headersOf, httpExchange } from "../../bench/harness/httpExchange.ts";
import { type Api, startApi } from "../support/api.ts";
import { readOpenapi } from "../support/openapi.ts";
import { engines } from "../support/stores.ts";

interface Served {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

describe.each(engines)("[console §1] GET /openapi.json on $name", (engine) => {
  let api: Api;
  let named: Api;
  const ask = async (
    { url }: Api,
    { method = "GET", path = "/openapi.json", headers = {} }: { method?: string; path?: string; headers?: Record<string, string> } = {},
  ): Promise<Served> => {
    const response = await httpExchange(url + path, { method, headers });
    return { status: response.status, headers: headersOf(response), text: response.text };
  };
  const serversOf = ({ text }: Served): unknown => (JSON.parse(text) as { servers: unknown }).servers;

  beforeAll(async () => {
    api = await startApi(engine, { env: { TRUSTED_PROXIES: "127.0.0.1" } });
    named = await startApi(engine, { env: { PUBLIC_URL: "https://keys.example.com", CONSOLE: "on" } });
  });
  afterAll(async () => {
    await api.close();
    await named.close();
    await engine.close();
  });

  test("serves the committed document, with the address that was asked, without credentials", async () => {
    const answer = await ask(api);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.text.endsWith("}\n")).toBe(true);
    expect(JSON.parse(answer.text)).toEqual({ ...readOpenapi(), servers: [{ url: api.url }] });
    expect(serversOf(await ask(api, { headers: { host: "keys.internal:8080" } }))).toEqual([{ url: "http://keys.internal:8080" }]);
    expect(serversOf(await ask(api, { path: "/openapi.json?x=1" }))).toEqual([{ url: api.url }]);
  });

  test("names PUBLIC_URL, or https where a trusted proxy says so, and no host that is none", async () => {
    expect(serversOf(await ask(named))).toEqual([{ url: "https://keys.example.com" }]);
    const forwarded = { host: "keys.example.org", "x-forwarded-proto": "https" };
    expect(serversOf(await ask(api, { headers: forwarded }))).toEqual([{ url: "https://keys.example.org" }]);
    expect(serversOf(await ask(api, { headers: { host: 'a"},{"b' } }))).toEqual([{ url: "/" }]);
  });

  test("can be kept: by its ETag it is known to be the same, at the same address", async () => {
    const { headers, text } = await ask(api);
    const etag = headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    expect(headers.get("cache-control")).toBe("no-cache");
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await ask(api, { headers: { "if-none-match": known } });
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    expect((await ask(api, { headers: { "if-none-match": etag, host: "elsewhere.example" } })).status).toBe(200);
    const head = await ask(api, { method: "HEAD" });
    expect([head.status, head.text, head.headers.get("etag")]).toEqual([200, "", etag]);
    expect(head.headers.get("content-length")).toBe(`${Buffer.byteLength(text)}`);
  });

  test("answers GET and HEAD over HTTP/2 alike", async () => {
    const session = connect(api.url);
    const get = (method: string): Promise<string> => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const stream = session.request({ ":path": "/openapi.json", ":method": method });
      let text = "";
      stream.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      stream.on("error", reject).on("end", () => resolve(text));
      return promise;
    };
    expect(await get("GET")).toBe((await ask(api)).text);
    expect(await get("HEAD")).toBe("");
    session.close();
  });

  test("any other method is 405, any other path 404", async () => {
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
      const answer = await ask(api, { method });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      expect(JSON.parse(answer.text)).toMatchObject({ error: { detail: `This address accepts GET, HEAD only, not ${method}.` } });
    }
    for (const path of ["/openapi.json/", "/OpenAPI.json", "/v2/openapi.json", "/openapi.yaml"]) {
      expect((await ask(api, { path })).status).toBe(404);
    }
  });
});
