// @same-on-every-engine
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { type Api, expectError, type StartOptions, startApi } from "../../support/api.ts";
import { expectEnvelope, type HttpAnswer, request } from "../../support/envelope.ts";
import { faultyStore } from "../../support/faultyStore.ts";
import { engines } from "../../support/stores.ts";
import { createTestClock } from "../../support/testClock.ts";

const rateLimited = "user/too_many_requests/workspace_rate_limited";
const headerNames = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after"];
const limitHeaders = ({ headers }: HttpAnswer): Record<string, string | null> =>
  Object.fromEntries(headerNames.map((name) => [name, headers.get(name)]));

describe.each(engines)("[protocol §8] the management rate limit on $name", (engine) => {
  const running: Api[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((api) => api.close()));
  });
  afterAll(() => engine.close());
  const start = async (limit: string | undefined, options: StartOptions = {}): Promise<Api> => {
    const api = await startApi(engine, {
      ...options,
      env: { ...options.env, ...(limit === undefined ? {} : { MANAGEMENT_RATE_LIMIT: limit }) },
    });
    running.push(api);
    return api;
  };
  const createApi = ({ url }: Api, rootKey: string, headers = {}): Promise<HttpAnswer> =>
    request(url, "apis.createApi", { rootKey, headers, body: { name: "limited" } });

  test("is off unless it is set: no headers", async () => {
    const api = await start(undefined);
    expect(Object.values(limitHeaders(await createApi(api, api.rootKey)))).toEqual([null, null, null, null]);
  });

  test("every response to a caller tells what is left, over it is 429 with Retry-After", async () => {
    // 15 s into its minute.
    const clock = createTestClock(1_750_000_020_000 - (1_750_000_020_000 % 60_000) + 15_000);
    const api = await start("4", { clock });
    const weak = await api.createRootKey({ permissions: [] });
    const answers = [
      await createApi(api, api.rootKey),
      await createApi(api, weak),
      await request(api.url, "apis.createApi", { rootKey: weak, body: {} }),
      await request(api.url, "keys.getKey", { rootKey: weak, body: { keyId: "key_nothing" } }),
      await createApi(api, api.rootKey),
      await createApi(api, weak),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 400, 404, 429, 429]);
    expect(answers.map(limitHeaders)).toEqual(
      ["3", "2", "1", "0", "0", "0"].map((remaining, i) => ({
        "ratelimit-limit": "4",
        "ratelimit-remaining": remaining,
        "ratelimit-reset": "45",
        "retry-after": i < 4 ? null : "45",
      })),
    );
    for (const answer of answers) expectEnvelope(answer);
    expect(expectError(answers[4] as HttpAnswer, 429, rateLimited).title).toBe("Too Many Requests");
  });

  test("calls that are unauthenticated, too large or not of a procedure do not count", async () => {
    const api = await start("1", { env: { MAX_BODY_BYTES: "1024" } });
    const answers = [
      await createApi(api, "lkr_unknown"),
      await request(api.url, "/v2/apis.nothing", { rootKey: api.rootKey }),
      await request(api.url, "apis.createApi", { rootKey: api.rootKey, method: "GET" }),
      await request(api.url, "/v2/liveness", { method: "GET" }),
      await request(api.url, "apis.createApi", { rootKey: api.rootKey, body: " ".repeat(2_000) }),
      await createApi(api, api.rootKey),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 405, 200, 413, 200]);
  });

  test("counts the calls of all root keys on all edges together", async () => {
    const api = await start("10", { clock: createTestClock() });
    const other = await api.createRootKey();
    for (const edge of api.edges) {
      for (const rootKey of [api.rootKey, other]) expect((await edge.call("apis.createApi", { name: "api" }, rootKey)).status).toBe(200);
    }
    for (const edge of api.edges) expectError(await edge.call("apis.createApi", { name: "api" }, other), 429, rateLimited);
  });

  test("its 429 is problem+json whatever the caller accepts, but for updatePermission and updateRole", async () => {
    const api = await start("0");
    const typeOf = async (procedure: string, accept: string) => {
      const answer = await request(api.url, procedure, { rootKey: api.rootKey, headers: { accept }, body: {} });
      expectError(answer, 429, rateLimited);
      return answer.headers.get("content-type");
    };
    for (const accept of ["application/json", "*/*"]) {
      for (const procedure of ["apis.createApi", "keys.verifyKey", "identities.deleteIdentity"]) {
        expect([procedure, await typeOf(procedure, accept)]).toEqual([procedure, "application/problem+json"]);
      }
      for (const procedure of ["permissions.updatePermission", "permissions.updateRole"]) {
        expect([procedure, await typeOf(procedure, accept)]).toEqual([procedure, "application/json"]);
      }
    }
  });

  test("a limit of 0 blocks everything that is authenticated, and liveness not", async () => {
    const api = await start("0");
    const answer = await createApi(api, api.rootKey);
    expectError(answer, 429, rateLimited);
    expect(limitHeaders(answer)).toMatchObject({ "ratelimit-limit": "0", "ratelimit-remaining": "0" });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await createApi(api, "wrong")).status).toBe(401);
    expect((await request(api.url, "/v2/liveness", { method: "GET" })).status).toBe(200);
  });

  test("a new window begins by itself", async () => {
    const clock = createTestClock();
    const api = await start("1", { clock });
    expect((await createApi(api, api.rootKey)).status).toBe(200);
    expect((await createApi(api, api.rootKey)).status).toBe(429);
    clock.advance(120_000);
    expect((await createApi(api, api.rootKey)).status).toBe(200);
  });

  test.each(["allow", "deny"])(
    "while the store is down calls are allowed and say so, also with RATELIMIT_STORE_DOWN=%s",
    async (policy) => {
      const store = faultyStore(await engine.open());
      const api = await start("2", { store, env: { RATELIMIT_STORE_DOWN: policy } });
      const invalid = () => request(api.url, "apis.createApi", { rootKey: api.rootKey, body: {} });
      expect((await invalid()).status).toBe(400);
      store.behave("fails");
      const answers: HttpAnswer[] = [];
      for (let i = 0; i < 6; i++) answers.push(await invalid());
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400]);
      expect(answers.at(-1)?.body).toMatchObject({ meta: { degraded: expect.arrayContaining(["ratelimits"]) } });
      store.behave("well");
    },
  );
});
