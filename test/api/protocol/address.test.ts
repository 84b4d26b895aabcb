// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { expectEnvelope, type HttpAnswer, type HttpRequest, request } from "../../support/envelope.ts";
import { faultyStore } from "../../support/faultyStore.ts";
import { engines } from "../../support/stores.ts";

const json = "application/json";
const problem = "application/problem+json";

describe.each(engines)("[protocol §1] on $name", (engine) => {
  let api: Api;
  const post = (path: string, options: HttpRequest = {}): Promise<HttpAnswer> =>
    request(api.url, path, { rootKey: api.rootKey, ...options });
  beforeAll(async () => {
    api = await startApi(engine);
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  test.each([
    "/v2/keys.createkey",
    "/v2/keys/createKey",
    "/v2/keys.createKey/",
    "/v2/keys.createKey.x",
    "/v2/keys.createKey%20",
    "/v2/keys%2EcreateKey",
    "/v2/Keys.createKey",
    "/V2/keys.createKey",
    "/v2/keyscreateKey",
    "/v2//keys.createKey",
    "/v1/keys.createKey",
    "/v2/__proto__.x",
    "/v2/constructor.name",
    "/v2/liveness/",
    "/v2/",
    "/v2",
    "/",
  ])("%s is 404, with and without credentials, whatever the method", async (path) => {
    for (const rootKey of [api.rootKey, undefined, "wrong"]) {
      for (const method of ["POST", "GET", "DELETE"]) {
        const answer = await request(api.url, path, { rootKey, method });
        expectEnvelope(answer);
        expect(expectError(answer, 404, "unkey/application/procedure_not_found").title).toBe("Not Found");
      }
    }
  });

  test("liveness needs no credentials and touches no store", async () => {
    const store = faultyStore(await engine.open());
    const alone = await startApi(engine, { store });
    try {
      store.behave("fails");
      const answer = await request(alone.url, "/v2/liveness", { method: "GET", headers: { "content-type": undefined } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe(json);
      expect(answer.body).toEqual({ meta: { requestId: expect.stringMatching(/^req_/) }, data: { message: "OK" } });
      expect((await request(alone.url, "apis.createApi", { rootKey: alone.rootKey, body: { name: "api" } })).status).toBe(503);
    } finally {
      store.behave("well");
      await alone.close();
    }
  });

  test("liveness is the only address that is not POST", async () => {
    const answer = await post("/v2/liveness", { body: {} });
    expectError(answer, 405, "unkey/application/method_not_allowed");
    expect(answer.headers.get("allow")).toBe("GET");
  });

  test("the query string neither supplies nor breaks anything", async () => {
    const bare = await post("/v2/apis.createApi?name=from-the-query", { body: {} });
    expect(expectError(bare, 400, "unkey/application/invalid_input").errors).toMatchObject([{ location: "body.name" }]);
    const { apiId } = dataOf(await post("/v2/apis.createApi?name=x&name=y&%", { body: { name: "from the body" } }));
    expect(dataOf(await post("/v2/apis.getApi?", { body: { apiId } }))).toEqual({ id: apiId, name: "from the body" });
    expectError(await post("/v2/apis.getApi/?apiId=x", { body: { apiId } }), 404, "unkey/application/procedure_not_found");
  });

  test.each(["application/json", "application/json; charset=utf-8", "APPLICATION/JSON;Charset=UTF-8", "application/json ;x=y"])(
    "%s is a content type of JSON",
    async (type) => {
      dataOf(await post("apis.createApi", { body: { name: "api" }, headers: { "content-type": type } }));
    },
  );

  test("a compressed body is 400", async () => {
    const answer = await post("apis.createApi", { body: { name: "api" }, headers: { "content-encoding": "gzip" } });
    expectEnvelope(answer);
    expectError(answer, 400, "unkey/application/invalid_input");
  });

  test("there is no CORS, also not for a preflight", async () => {
    const preflight = { origin: "https://app.example", "access-control-request-method": "POST" };
    const answers = [
      await post("apis.createApi", { method: "OPTIONS", headers: preflight }),
      await post("apis.createApi", { body: { name: "api" }, headers: { origin: "https://app.example" } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([405, 200]);
    for (const { headers } of answers) expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test.each([
    [json, json],
    ["text/html", json],
    [undefined, problem], // Sent as */*.
    ["application/problem+json", problem],
    ["text/html, application/problem+json;q=0.1", problem],
    ["application/*", problem],
    ["application/json, */*", problem],
  ])("errors for Accept: %s are %s, a success is JSON", async (accept, type) => {
    const headers = { accept };
    const errors = [
      await post("/nowhere", { headers }),
      await post("apis.createApi", { headers, method: "GET" }),
      await post("apis.createApi", { headers, rootKey: undefined, body: {} }),
      await post("apis.createApi", { headers, body: {} }),
      await post("apis.getApi", { headers, body: { apiId: "api_nothing" } }),
      await post("apis.getApi", { headers, body: { apiId: "api_nothing" }, rootKey: await api.createRootKey({ permissions: [] }) }),
    ];
    expect(errors.map(({ status }) => status)).toEqual([404, 405, 401, 400, 404, 403]);
    expect(errors.map((answer) => answer.headers.get("content-type"))).toEqual(errors.map(() => type));
    const success = await post("apis.createApi", { headers, body: { name: "api" } });
    expect([success.status, success.headers.get("content-type")]).toEqual([200, json]);
  });

  test("every error of identities.deleteIdentity is problem+json", async () => {
    const headers = { accept: json };
    const answers = [
      await post("identities.deleteIdentity", { headers, rootKey: undefined, body: {} }),
      await post("identities.deleteIdentity", { headers, method: "GET" }),
      await post("identities.deleteIdentity", { headers, body: {} }),
      await post("identities.deleteIdentity", { headers, body: { identity: "nobody" } }),
    ];
    for (const answer of answers) expect([answer.status >= 400, answer.headers.get("content-type")]).toEqual([true, problem]);
  });

  test("answers that hold a secret are not to be stored", async () => {
    const { apiId } = dataOf(await post("apis.createApi", { body: { name: "api" } }));
    const created = await post("keys.createKey", { body: { apiId } });
    const { keyId } = dataOf(created);
    const rerolled = await post("keys.rerollKey", { body: { keyId, expiration: 0 } });
    dataOf(rerolled);
    expect([created, rerolled].map(({ headers }) => headers.get("cache-control"))).toEqual(["no-store", "no-store"]);
  });
});

describe.each(engines)("[protocol §9] on $name", (engine) => {
  test("an unavailable store is 503 service_unavailable, without a long Retry-After", async () => {
    const store = faultyStore(await engine.open());
    const api = await startApi(engine, { store });
    try {
      dataOf((await api.edges[0]?.call("apis.createApi", { name: "known root key" }, api.rootKey)) ?? expect.unreachable());
      store.behave("fails");
      for (const edge of api.edges) {
        const answer = await edge.call("apis.getApi", { apiId: "api_nothing" }, api.rootKey);
        expect(expectError(answer, 503, "unkey/application/service_unavailable").title).toBe("Service Unavailable");
        expectError(await edge.call("apis.getApi", { apiId: "api_nothing" }, "lkr_unknown"), 401, "unkey/authentication/key_not_found");
      }
      const answer = await request(api.url, "apis.createApi", { rootKey: api.rootKey, body: { name: "api" } });
      expectEnvelope(answer);
      expect(Number(answer.headers.get("retry-after") ?? 0)).toBeLessThanOrEqual(1);
    } finally {
      store.behave("well");
      await api.close();
      await engine.close();
    }
  });
});
