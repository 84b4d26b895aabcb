// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../../src/platform/storage/port/baseDocument.ts";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { createObjects, nothing, type Objects } from "../../support/bodies.ts";
import { expectEnvelope, type HttpAnswer, type HttpRequest, request } from "../../support/envelope.ts";
import { engines } from "../../support/stores.ts";
import { everythingIn } from "../../support/written.ts";

const limit = { identifier: "user_1", limit: 10, duration: 60_000 };
const tooLarge = `{"name":"${"x".repeat(2_000)}"}`;

/** The failures of a request, in the order of the checks. */
const failures = {
  path: [404, "unkey/application/procedure_not_found"],
  method: [405, "unkey/application/method_not_allowed"],
  credentials: [401, "unkey/authentication/missing"],
  size: [413, "user/bad_request/request_body_too_large"],
  management: [429, "user/too_many_requests/workspace_rate_limited"],
  input: [400, "unkey/application/invalid_input"],
  permission: [403, "unkey/authorization/insufficient_permissions"],
  key: [404, "unkey/data/key_not_found"],
  api: [404, "unkey/data/api_not_found"],
  role: [404, "unkey/data/role_not_found"],
  gone: [410, "unkey/data/ratelimit_namespace_gone"],
  roleExists: [409, "unkey/data/role_already_exists"],
} as const;

describe.each(engines)("[protocol §2] on $name", (engine) => {
  let api: Api;
  let blocked: Api;
  let powerless: string;
  let objects: Objects;

  beforeAll(async () => {
    const env = { MAX_BODY_BYTES: "1024" };
    api = await startApi(engine, { env });
    blocked = await startApi(engine, { env: { ...env, MANAGEMENT_RATE_LIMIT: "0" } });
    powerless = await api.createRootKey({ permissions: [] });
    objects = await createObjects(async (procedure, body) => dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body })));
    await api.store.collection("namespaces").insertOne({
      _id: "rlns_gone",
      v: SCHEMA_VERSION,
      workspaceId: WORKSPACE_ID,
      createdAt: 1,
      deletedAt: 2,
      name: "gone",
    });
  });
  afterAll(async () => {
    await api.close();
    await blocked.close();
    await engine.close();
  });

  const expectFailure = (answer: HttpAnswer, failure: keyof typeof failures): void => {
    expectEnvelope(answer);
    const [status, type] = failures[failure];
    expectError(answer, status, type);
  };
  const anonymous = (path: string, options: HttpRequest = {}): Promise<HttpAnswer> => request(api.url, path, options);
  const weak = (path: string, body: unknown, headers = {}): Promise<HttpAnswer> =>
    request(api.url, path, { rootKey: powerless, body, headers });
  const strong = (path: string, body: unknown): Promise<HttpAnswer> => request(api.url, path, { rootKey: api.rootKey, body });
  const limited = (path: string, options: HttpRequest = {}): Promise<HttpAnswer> =>
    request(blocked.url, path, { rootKey: blocked.rootKey, ...options });

  test("1 the path, before the method, credentials, size and content", async () => {
    expectFailure(await anonymous("/v2/apis.nothing", { method: "GET" }), "path");
    expectFailure(await anonymous("/v2/apis.nothing", { body: "no JSON", headers: { "content-type": "text/plain" } }), "path");
    expectFailure(await anonymous("/v2/apis.nothing", { body: tooLarge }), "path");
    expectFailure(await limited("/v2/apis.nothing", { body: {} }), "path");
  });

  test("1 the method, before credentials, size, rate and content", async () => {
    expectFailure(await anonymous("apis.createApi", { method: "PUT", body: tooLarge }), "method");
    expectFailure(await anonymous("apis.createApi", { method: "PUT", body: "no JSON" }), "method");
    expectFailure(await limited("apis.createApi", { method: "PUT", body: {} }), "method");
  });

  test("2 the credentials, before size, rate, content and look-ups", async () => {
    expectFailure(await anonymous("apis.createApi", { body: tooLarge }), "credentials");
    expectFailure(await limited("apis.createApi", { rootKey: undefined, body: {} }), "credentials");
    expectFailure(await anonymous("apis.createApi", { body: "no JSON", headers: { "content-type": "text/plain" } }), "credentials");
    expectFailure(await anonymous("apis.createApi", { body: {} }), "credentials");
    expectFailure(await anonymous("keys.getKey", { body: { keyId: nothing.keyId } }), "credentials");
    expectFailure(await anonymous("identities.createIdentity", { body: {} }), "credentials");
  });

  test("3 the size, before rate, content and permission", async () => {
    expectFailure(await limited("apis.createApi", { body: tooLarge }), "size");
    expectFailure(await weak("apis.createApi", tooLarge), "size");
    expectFailure(await weak("apis.createApi", "x".repeat(2_000), { "content-type": "text/plain" }), "size");
  });

  test("4 the management rate limit, before content, permission and look-ups", async () => {
    expectFailure(await limited("apis.createApi", { body: "no JSON" }), "management");
    expectFailure(await limited("apis.createApi", { body: {}, headers: { "content-type": undefined } }), "management");
    expectFailure(await limited("apis.createApi", { body: {} }), "management");
    expectFailure(await limited("apis.getApi", { body: { apiId: nothing.apiId } }), "management");
    expectFailure(await limited("identities.createIdentity", { body: {} }), "management");
    const { service } = blocked;
    expect(service.store).not.toBe(api.store);
  });

  test("5 everything that the body alone decides, before permission and look-ups", async () => {
    expectFailure(await weak("apis.createApi", { name: "payments" }, { "content-type": "text/plain" }), "input");
    expectFailure(await weak("apis.createApi", "{"), "input");
    expectFailure(await weak("apis.getApi", { apiId: objects.apiId, foo: 1 }), "input");
    expectFailure(await weak("keys.getKey", { keyId: nothing.keyId, foo: 1 }), "input");
    const refillWithoutBalance = { remaining: null, refill: { interval: "daily", amount: 1 } };
    expectFailure(await weak("keys.createKey", { apiId: nothing.apiId, credits: refillWithoutBalance }), "input");
    expectFailure(await weak("keys.updateKey", { keyId: nothing.keyId, credits: refillWithoutBalance }), "input");
    const dailyWithDay = { interval: "daily", amount: 1, refillDay: 3 };
    expectFailure(await weak("keys.updateKey", { keyId: nothing.keyId, credits: { refill: dailyWithDay } }), "input");
    expectFailure(await weak("ratelimit.limit", { namespace: "gone", ...limit, limit: 0 }), "input");
  });

  test("6 the permission that the request alone decides, before look-ups and conflicts", async () => {
    expectFailure(await weak("apis.getApi", { apiId: nothing.apiId }), "permission");
    expectFailure(await weak("apis.deleteApi", { apiId: nothing.apiId }), "permission");
    expectFailure(await weak("keys.createKey", { apiId: nothing.apiId, roles: ["no.role"] }), "permission");
    expectFailure(await weak("permissions.createRole", { name: objects.role }), "permission");
    expectFailure(await weak("keys.verifyKey", { key: nothing.key }), "permission");
    expectFailure(await weak("keys.whoami", { key: nothing.key }), "permission");
  });

  test("7 the object, before the permission on it and all that the store must tell", async () => {
    expectFailure(await weak("keys.getKey", { keyId: nothing.keyId }), "key");
    expectFailure(await strong("keys.updateKey", { keyId: nothing.keyId, roles: ["no.role"] }), "key");
    expectFailure(await strong("keys.createKey", { apiId: nothing.apiId, roles: ["no.role"] }), "api");
  });

  test("8 the permission on the object, before what is wrong with it", async () => {
    expectFailure(await weak("keys.updateKey", { keyId: objects.keyId, roles: ["no.role"] }), "permission");
    const refill = { refill: { interval: "daily", amount: 1 } };
    expectFailure(await weak("keys.updateKey", { keyId: objects.keyId, credits: refill }), "permission");
    expectFailure(await weak("keys.updateCredits", { keyId: objects.keyId, operation: "increment", value: 1 }), "permission");
    expectFailure(await weak("keys.addRoles", { keyId: objects.keyId, roles: ["no.role"] }), "permission");
    expectFailure(await weak("ratelimit.limit", { namespace: "gone", ...limit }), "permission");
    expectFailure(await strong("ratelimit.limit", { namespace: "gone", ...limit }), "gone");
  });

  test("9 what the store must tell, last", async () => {
    expectFailure(await strong("keys.updateKey", { keyId: objects.keyId, roles: ["no.role"] }), "role");
    expectFailure(await strong("keys.updateKey", { keyId: objects.keyId, credits: { refill: { interval: "daily", amount: 1 } } }), "input");
    expectFailure(await strong("permissions.createRole", { name: objects.role.toUpperCase() }), "roleExists");
  });

  test("a 4xx writes nothing", async () => {
    const before = await everythingIn(api.store);
    const { keyId, apiId, role, permission } = objects;
    const statuses = [
      await strong("apis.createApi", {}),
      await weak("apis.createApi", { name: "payments" }),
      await weak("apis.deleteApi", { apiId }),
      await strong("apis.deleteApi", { apiId: nothing.apiId }),
      await strong("keys.createKey", { apiId: nothing.apiId, externalId: "nobody", permissions: ["never.made"] }),
      await strong("keys.createKey", { apiId, roles: ["no.role"], externalId: "nobody", permissions: ["never.made"] }),
      await strong("keys.createKey", { apiId, recoverable: true, externalId: "nobody", permissions: ["never.made"] }),
      await strong("keys.updateKey", { keyId, name: "new", roles: ["no.role"], externalId: "nobody", permissions: ["never.made"] }),
      await weak("keys.updateKey", { keyId, name: "new", externalId: "nobody", permissions: ["never.made"] }),
      await weak("keys.deleteKey", { keyId }),
      await weak("keys.rerollKey", { keyId, expiration: 0 }),
      await strong("keys.updateCredits", { keyId, operation: "increment", value: 1 }),
      await strong("keys.removePermissions", { keyId, permissions: ["never.made"] }),
      await strong("permissions.createRole", { name: role, permissions: ["never.made"] }),
      await strong("permissions.createPermission", { name: "x", slug: permission.toUpperCase() }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([400, 403, 403, 404, 404, 404, 412, 404, 403, 403, 403, 400, 404, 409, 409]);
    expect(await everythingIn(api.store)).toEqual(before);
  });
});
