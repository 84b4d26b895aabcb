// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { createObjects, type Objects } from "../../support/bodies.ts";
import { expectEnvelope, type HttpAnswer, type HttpRequest, request } from "../../support/envelope.ts";
import { engines } from "../../support/stores.ts";

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  let objects: Objects;
  const post = (path: string, body: unknown, options: HttpRequest = {}): Promise<HttpAnswer> =>
    request(api.url, path, { rootKey: api.rootKey, body, ...options });

  beforeAll(async () => {
    api = await startApi(engine);
    objects = await createObjects(async (procedure, body) => dataOf(await post(procedure, body)));
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  test("[protocol §5] a request id is new for every request and never taken over", async () => {
    const ids: string[] = [];
    const mine = {
      "x-request-id": "req_mine12345",
      "request-id": "req_mine12345",
      traceparent: "req_mine12345",
      "x-correlation-id": "req_mine12345",
    };
    for (const options of [{}, { rootKey: undefined }, { method: "GET", body: undefined }]) {
      for (const path of ["apis.getApi", "/v2/apis.nothing", "/", "/v2/liveness"]) {
        for (const body of [{}, { apiId: objects.apiId }, { apiId: "api_nothing" }]) {
          const answer = await post(path, body, { headers: mine, ...options });
          ids.push(answer.body.meta.requestId);
          expect(answer.text).not.toContain("mine");
          expect(answer.headers.get("x-request-id") ?? answer.body.meta.requestId).toBe(answer.body.meta.requestId);
        }
      }
    }
    expect(new Set(ids).size).toBe(36);
  });

  test("[protocol §5] a detail names the field, permission or object and never what was presented", async () => {
    const { key, keyId, role } = objects;
    const details: [HttpAnswer, string][] = [
      [await post("apis.createApi", { name: "x" }), "name"],
      [await post("apis.getApi", { apiId: "api_nothing1" }), "api_nothing1"],
      [await post("keys.getKey", { keyId: "key_nothing1" }), "key_nothing1"],
      [await post("keys.updateKey", { keyId, roles: ["no.role"] }), "no.role"],
      [await post("permissions.createRole", { name: role }), role],
      [await post("apis.createApi", { name: "api" }, { rootKey: await api.createRootKey({ permissions: [] }) }), "api.*.create_api"],
    ];
    for (const [answer, name] of details) {
      expectEnvelope(answer);
      expect(answer.body.error?.detail).toContain(name);
    }
    const presented: HttpAnswer[] = [
      await post("apis.getApi", { apiId: "x" }, { rootKey: key }),
      await post("apis.getApi", { apiId: "x" }, { rootKey: "lkr_presentedpresentedpresentedpresented" }),
      await post("apis.getApi", { apiId: "x" }, { rootKey: undefined, headers: { authorization: "Basic presented" } }),
      await post("keys.whoami", { key: "presented_secret" }),
      await post("keys.verifyKey", { key: 5, other: "presented_secret" }),
      await post("keys.verifyKey", '{"key":"presented_secret"'),
      await post("keys.verifyKey", '{"key":presented_secret}'),
    ];
    for (const { status, text } of presented) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(text).not.toContain(key);
      expect(text).not.toMatch(/presented(_secret|presented|")/);
    }
  });

  const item = { name: "requests", limit: 10, duration: 1000 };
  test.each<[string, object, string, RegExp]>([
    ["apis.createApi", { name: "ab" }, "body.name", /too short: got 2, want 3/],
    ["apis.createApi", { name: "x".repeat(257) }, "body.name", /too long: got 257, want at most 256/],
    ["keys.createKey", { enabled: "yes" }, "body.enabled", /got string, want boolean/],
    ["keys.createKey", { enabled: null }, "body.enabled", /got null, want boolean/],
    ["keys.getKey", {}, "body.keyId", /missing property 'keyId'/],
    ["keys.createKey", { foo: 1 }, "body.foo", /additional property 'foo'/],
    ["keys.createKey", { ratelimits: [item, { ...item, limit: 0 }] }, "body.ratelimits[1].limit", /got 0, want at least 1/],
    ["keys.createKey", { ratelimits: [{ name: "requests", duration: 1000 }] }, "body.ratelimits[0].limit", /missing property 'limit'/],
    ["keys.createKey", { permissions: ["fine", "not fine"] }, "body.permissions[1]", /does not match the pattern/],
    ["keys.createKey", { roles: Array.from({ length: 101 }, (_, i) => `role${i}`) }, "body.roles", /got 101, want at most 100/],
    ["keys.createKey", { credits: { remaining: 1, extra: 1 } }, "body.credits.extra", /additional property 'extra'/],
    [
      "keys.createKey",
      { credits: { remaining: 1, refill: { interval: "daily", amount: 0 } } },
      "body.credits.refill.amount",
      /got 0, want at least 1/,
    ],
    ["keys.updateCredits", { keyId: "key_1", operation: "add", value: 1 }, "body.operation", /one of/],
    ["keys.createKey", { ratelimits: item }, "body.ratelimits", /got object, want array/],
    ["keys.createKey", { meta: [] }, "body.meta", /got array, want object/],
  ])("[protocol §6] %s %j is a violation at %s", async (procedure, fields, location, message) => {
    const body = procedure === "keys.createKey" ? { apiId: objects.apiId, ...fields } : fields;
    const answer = await post(procedure, body);
    expectEnvelope(answer);
    const error = expectError(answer, 400, "unkey/application/invalid_input");
    expect(error.errors).toMatchObject([{ location, message: expect.stringMatching(message) }]);
    expect(error.detail).toContain(procedure);
  });

  test("[protocol §6] all violations of a body are reported at once", async () => {
    const answer = await post("keys.createKey", {
      name: "",
      enabled: 1,
      foo: 1,
      ratelimits: [{}, { ...item, limit: 0, duration: 999 }],
      credits: { remaining: -1, refill: { interval: "never", refillDay: 32 } },
    });
    const error = expectError(answer, 400, "unkey/application/invalid_input");
    expect(error.errors?.map(({ location }) => location).sort()).toEqual([
      "body.apiId",
      "body.credits.refill.amount",
      "body.credits.refill.interval",
      "body.credits.refill.refillDay",
      "body.credits.remaining",
      "body.enabled",
      "body.foo",
      "body.name",
      "body.ratelimits[0].duration",
      "body.ratelimits[0].limit",
      "body.ratelimits[0].name",
      "body.ratelimits[1].duration",
      "body.ratelimits[1].limit",
    ]);
  });

  test("[protocol §6] rules across fields are invalid input, other 400s have errors, too", async () => {
    const credits = { remaining: 1, refill: { interval: "daily", amount: 1, refillDay: 1 } };
    expectEnvelope(await post("keys.createKey", { apiId: objects.apiId, credits }));
    expectError(await post("keys.createKey", { apiId: objects.apiId, credits }), 400, "unkey/application/invalid_input");
    const query = await post("keys.verifyKey", { key: objects.key, permissions: "a AND" });
    expectEnvelope(query);
    expectError(query, 400, "user/bad_request/permissions_query_syntax_error");
    const unlimited = await post("keys.updateCredits", { keyId: objects.keyId, operation: "increment", value: 1 });
    expectEnvelope(unlimited);
    expectError(unlimited, 400, "unkey/application/invalid_input");
  });

  test("[protocol §6] a body of nonsense cannot make an endless answer", async () => {
    const answer = await post("keys.createKey", `{${Array.from({ length: 100_000 }, (_, i) => `"f${i}":0`).join(",")}}`);
    expectEnvelope(answer);
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(500_000);
  });
});

describe.each(engines)("[protocol §5] error types on $name", (engine) => {
  afterAll(() => engine.close());

  test.each(["https://errors.example/base", "https://errors.example/base/", "http://localhost:8080"])(
    "are absolute URLs below %s",
    async (base) => {
      const api = await startApi(engine, { env: { ERRORS_BASE_URL: base } });
      try {
        const errors = [
          await request(api.url, "/nowhere"),
          await request(api.url, "apis.createApi", { body: {} }),
          await request(api.url, "apis.createApi", { rootKey: api.rootKey, body: {} }),
        ].map(({ body }) => body.error?.type);
        const prefix = base.replace(/\/$/, "");
        expect(errors).toEqual(
          ["application/procedure_not_found", "authentication/missing", "application/invalid_input"].map(
            (suffix) => `${prefix}/errors/unkey/${suffix}`,
          ),
        );
        for (const edge of api.edges) {
          const answer = await edge.call("apis.getApi", { apiId: "api_nothing" }, api.rootKey);
          expect(answer.body.error?.type).toBe(`${prefix}/errors/unkey/data/api_not_found`);
        }
      } finally {
        await api.close();
      }
    },
  );
});
