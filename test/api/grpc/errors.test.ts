// @same-on-every-engine
import { connect as connectHttp2 } from "node:http2";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import type { Answer } from "../../../bench/harness/v2Edge.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.ts";
import { AnalyticsService } from "../../../gen/latchkey/v2/analytics_pb.ts";
import { ApisService } from "../../../gen/latchkey/v2/apis_pb.ts";
import { KeysService, VerificationCode } from "../../../gen/latchkey/v2/keys_pb.ts";
import { PermissionsService } from "../../../gen/latchkey/v2/permissions_pb.ts";
import { RatelimitService } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../../src/platform/storage/port/baseDocument.ts";
import { StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import { services } from "../../../src/service/services.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { bodyOf, createObjects, nothing, type Objects } from "../../support/bodies.ts";
import { request } from "../../support/envelope.ts";
import { failureOf, rpcTransports } from "../../support/rpcClients.ts";
import { engines } from "../../support/stores.ts";

const requestId = /^req_[A-Za-z0-9_-]{8,}$/;

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  let objects: Objects;
  let powerless: string;
  let failing: Error | undefined;

  beforeAll(async () => {
    const store = interceptStore(await engine.open(), (operation) => {
      if (failing) throw failing;
      return operation();
    });
    api = await startApi(engine, { store, env: { MAX_BODY_BYTES: "4096" } });
    objects = await createObjects(async (procedure, body) => dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body })));
    powerless = await api.createRootKey({ permissions: [] });
    await store.collection("namespaces").insertOne({
      ...{ _id: "rlns_gone", v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID },
      ...{ createdAt: 1, deletedAt: 2, name: "gone" },
    });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const refillWithoutBalance = { remaining: null, refill: { interval: "daily", amount: 1 } };
  test.each<[string, string, (objects: Objects) => object, "all" | "none" | "wrong"]>([
    ["a missing field", "keys.getKey", () => ({}), "all"],
    ["a text that is too short", "apis.createApi", () => ({ name: "ab" }), "all"],
    ["a pattern that does not match", "permissions.createPermission", () => ({ name: "x", slug: "no blanks" }), "all"],
    [
      "several violations, deep down",
      "keys.createKey",
      ({ apiId }) => {
        const limit = { limit: 1, duration: 1_000 };
        return {
          apiId,
          name: "",
          externalId: "a b",
          roles: ["fine", ""],
          ratelimits: [
            { name: "fine", ...limit },
            { name: "x", ...limit },
          ],
        };
      },
      "all",
    ],
    ["a rule across fields", "keys.createKey", ({ apiId }) => ({ apiId, credits: refillWithoutBalance }), "all"],
    ["a permissions query", "keys.verifyKey", ({ key }) => ({ key, permissions: "a AND" }), "all"],
    ["credentials", "apis.createApi", () => ({ name: "api" }), "wrong"],
    ["a permission", "apis.getApi", ({ apiId }) => ({ apiId }), "none"],
    ["a permission on the object", "keys.updateKey", ({ keyId }) => ({ keyId, name: "x" }), "none"],
    ["an unknown API", "apis.getApi", () => ({ apiId: nothing.apiId }), "all"],
    ["an unknown key", "keys.getKey", () => ({ keyId: nothing.keyId }), "all"],
    ["an unknown role", "keys.updateKey", ({ keyId }) => ({ keyId, roles: ["no.role"] }), "all"],
    ["a name that is taken", "permissions.createRole", ({ role }) => ({ name: role }), "all"],
    ["a namespace that is gone", "ratelimit.limit", () => ({ namespace: "gone", identifier: "x", limit: 1, duration: 1_000 }), "all"],
    ["a missing encryption key", "keys.createKey", ({ apiId }) => ({ apiId, recoverable: true }), "all"],
    ["what the store must tell", "keys.updateCredits", ({ keyId }) => ({ keyId, operation: "increment", value: 1 }), "all"],
  ])("[grpc §3] %s is reported as on /v2, on every edge", async (_, procedure, body, grants) => {
    const rootKey = { all: api.rootKey, none: powerless, wrong: "lkr_wrong" }[grants];
    const facts = ({ status, body: { error } }: Answer) => ({
      status,
      ...error,
      errors: (error?.errors ?? [])
        .map(({ location, message }) => ({ location, message }))
        .sort((a, b) => (a.location < b.location ? -1 : 1)),
    });
    const [v2, ...others] = api.edges;
    const expected = facts((await v2?.call(procedure, body(objects), rootKey)) ?? expect.unreachable());
    expect(expected.status).toBeGreaterThanOrEqual(400);
    for (const edge of others) {
      expect([edge.name, facts(await edge.call(procedure, body(objects), rootKey))]).toEqual([edge.name, expected]);
    }
  });

  describe.each(Object.entries(rpcTransports))("over %s", (_name, transport) => {
    const apis = () => createClient(ApisService, transport(api.url));
    const keys = () => createClient(KeysService, transport(api.url));
    const limits = () => createClient(RatelimitService, transport(api.url));
    const as = (rootKey: string) => ({ headers: { authorization: `Bearer ${rootKey}` } });
    const root = () => as(api.rootKey);

    test("[grpc §1] the request id is in meta and, on errors too, in x-request-id", async () => {
      let headers = new Headers();
      const onHeader = (received: Headers): void => {
        headers = received;
      };
      const answer = await apis().createApi({ name: "request ids" }, { ...root(), onHeader });
      expect(answer.meta?.requestId).toMatch(requestId);
      expect(headers.get("x-request-id")).toBe(answer.meta?.requestId);
      const mine = { headers: { ...root().headers, "x-request-id": "req_mine12345" } };
      const failures = [
        await failureOf(apis().createApi({ name: "x" }, mine)),
        await failureOf(apis().createApi({ name: "x" })),
        await failureOf(apis().getApi({ apiId: nothing.apiId }, root())),
      ];
      for (const { metadata, detail } of failures) {
        expect(detail.requestId).toMatch(requestId);
        expect(metadata.get("x-request-id")).toBe(detail.requestId);
        expect(detail.requestId).not.toBe("req_mine12345");
      }
      expect(new Set([...failures.map(({ detail }) => detail.requestId), answer.meta?.requestId]).size).toBe(4);
    });

    test("[grpc §1] credentials are the metadata authorization, as on /v2", async () => {
      const { apiId } = objects;
      for (const authorization of ["Bearer KEY", "bearer KEY", "BEARER   KEY"]) {
        const headers = { authorization: authorization.replace("KEY", api.rootKey) };
        expect((await apis().getApi({ apiId }, { headers })).data?.id).toBe(apiId);
      }
      for (const [authorization, type] of [
        [undefined, "missing"],
        ["Basic KEY", "malformed"],
        ["KEY", "malformed"],
        [`Bearer ${objects.key}`, "key_not_found"],
      ] as const) {
        const headers = authorization === undefined ? {} : { authorization: authorization.replace("KEY", api.rootKey) };
        const { code, detail } = await failureOf(apis().getApi({ apiId }, { headers }));
        expect([code, detail.httpStatus, detail.type.split("/errors/")[1]]).toEqual([
          "unauthenticated",
          401,
          `unkey/authentication/${type}`,
        ]);
      }
    });

    test("[grpc §3] each failure has its code, one ErrorDetail and the detail as message", async () => {
      const { keyId, apiId } = objects;
      const expectCode = async (call: Promise<unknown>, code: string, status: number, title: string): Promise<void> => {
        const failure = await failureOf(call);
        expect({ code: failure.code, status: failure.detail.httpStatus, title: failure.detail.title }).toEqual({ code, status, title });
        expect(failure.message).toMatch(/\S/);
        expect(failure.detail.type).toMatch(/^https?:\/\/.+\/errors\/(unkey|user)\/\w+\/\w+$/);
        expect([status, failure.detail.violations.length > 0]).toEqual([status, status === 400]);
      };
      await expectCode(apis().createApi({}, root()), "invalid_argument", 400, "Bad Request");
      await expectCode(apis().createApi({ name: "api" }), "unauthenticated", 401, "Unauthorized");
      await expectCode(apis().createApi({ name: "api" }, as(powerless)), "permission_denied", 403, "Forbidden");
      await expectCode(apis().getApi({ apiId: nothing.apiId }, root()), "not_found", 404, "Not Found");
      const again = { name: "Again", slug: objects.permission };
      const permissions = createClient(PermissionsService, transport(api.url));
      await expectCode(permissions.createPermission(again, root()), "already_exists", 409, "Conflict");
      const gone = { namespace: "gone", identifier: "x", limit: 1n, duration: 1_000n };
      await expectCode(limits().limit(gone, root()), "failed_precondition", 410, "Gone");
      await expectCode(keys().createKey({ apiId, recoverable: true }, root()), "failed_precondition", 412, "Precondition Failed");
      await expectCode(apis().createApi({ name: "x".repeat(5_000) }, root()), "resource_exhausted", 413, "Request Entity Too Large");
      const analytics = createClient(AnalyticsService, transport(api.url));
      await expectCode(analytics.getVerifications({ query: "SELECT 1" }, root()), "failed_precondition", 412, "Precondition Failed");
      failing = new TypeError("a defect");
      await expectCode(keys().getKey({ keyId }, root()), "internal", 500, "Internal Server Error");
      failing = new StoreUnavailableError("away");
      await expectCode(keys().getKey({ keyId }, root()), "unavailable", 503, "Service Unavailable");
      failing = undefined;
      await expect.poll(async () => (await request(api.url, "keys.getKey", { rootKey: api.rootKey, body: { keyId } })).status).toBe(200);
    });

    test("[grpc §3] an outcome other than VALID and a denied limit are ordinary answers", async () => {
      const verified = await keys().verifyKey({ key: "unknown" }, root());
      expect(verified.data).toMatchObject({ valid: false, code: VerificationCode.NOT_FOUND });
      const check = { namespace: objects.namespace, identifier: crypto.randomUUID(), limit: 1n, duration: 60_000n };
      expect((await limits().limit(check, root())).data?.success).toBe(true);
      expect((await limits().limit(check, root())).data?.success).toBe(false);
    });

    test("[grpc §1] health is served without credentials, for the node and each service", async () => {
      const health = createClient(Health, transport(api.url));
      for (const service of ["", ...services.map(({ typeName }) => typeName)]) {
        expect([service, (await health.check({ service })).status]).toEqual([service, Status.SERVING]);
      }
    });
  });

  test("[grpc §3] an unknown procedure, or another method than POST, is unimplemented", async () => {
    const session = connectHttp2(api.url);
    const statusOf = (path: string, method: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const headers = { ":method": method, ":path": path, "content-type": "application/grpc", te: "trailers" };
        const stream = session.request({ ...headers, authorization: `Bearer ${api.rootKey}` });
        for (const event of ["response", "trailers"]) {
          stream.on(event, (received) => received["grpc-status"] !== undefined && resolve(String(received["grpc-status"])));
        }
        stream.on("error", reject);
        stream.resume().end(Buffer.alloc(5));
      });
    expect(await statusOf("/latchkey.v2.KeysService/Nothing", "POST")).toBe("12");
    expect(await statusOf("/latchkey.v2.Nothing/VerifyKey", "POST")).toBe("12");
    expect(await statusOf("/latchkey.v2.KeysService/VerifyKey", "PUT")).toBe("12");
    session.close();
  });

  test("[grpc §3] 429 is resource_exhausted with retry-after, everywhere", async () => {
    const limited = await startApi(engine, { env: { MANAGEMENT_RATE_LIMIT: "0" } });
    try {
      for (const transport of Object.values(rpcTransports)) {
        const call = createClient(KeysService, transport(limited.url)).verifyKey(
          { key: "x" },
          { headers: { authorization: `Bearer ${limited.rootKey}` } },
        );
        const { code, metadata, detail } = await failureOf(call);
        expect([code, detail.httpStatus]).toEqual(["resource_exhausted", 429]);
        expect(Number(metadata.get("retry-after"))).toBeGreaterThan(0);
        expect(metadata.get("ratelimit-limit")).toBe("0");
      }
    } finally {
      await limited.close();
    }
  });

  test("[grpc §1] the same call gives the same data on every edge", async () => {
    const seen: unknown[] = [];
    for (const edge of api.edges) seen.push(dataOf(await edge.call("keys.getKey", bodyOf("keys.getKey", objects), api.rootKey)));
    for (const data of seen) expect(data).toEqual(seen[0]);
  });
});
