// @same-on-every-engine
import { hash } from "node:crypto";
import { Unkey } from "@unkey/api";
import { HTTPClient } from "@unkey/api/lib/http.js";
import * as errors from "@unkey/api/models/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { embeddedAnalytics } from "../support/analytics.ts";
import { type Api, startApi } from "../support/api.ts";
import { procedureNames } from "../support/edges.ts";
import { registerMigration } from "../support/migrations.ts";
import { engines } from "../support/stores.ts";
import { isNewerThanClients } from "./newerThanClients.ts";

/** Every item of a paged list, as the client's own iterator walks it. */
const collect = async <T>(pages: AsyncIterable<{ readonly result: { readonly data: readonly T[] } }>): Promise<T[]> => {
  const all: T[] = [];
  for await (const page of pages) all.push(...page.result.data);
  return all;
};

/** Whether this client lacks a procedure. */
const unknownToTheClient = (procedure: string): boolean =>
  procedure.startsWith("rootKeys.") ||
  ["permissions.updatePermission", "permissions.updateRole"].includes(procedure) ||
  isNewerThanClients(procedure);

describe.each(engines)("the official TypeScript client on $name", (engine) => {
  let api: Api;
  let unkey: Unkey;
  let migrationId: string;
  let analytics: ReturnType<typeof embeddedAnalytics>;
  /** Procedures that it called with success. */
  const driven = new Set<string>();
  beforeAll(async () => {
    analytics = embeddedAnalytics();
    api = await startApi(engine, { env: analytics.env });
    migrationId = await registerMigration(api.store, "sha256");
    const httpClient = new HTTPClient();
    httpClient.addHook("response", ({ status }, { url }) => {
      if (status === 200) driven.add(new URL(url).pathname.slice("/v2/".length));
    });
    unkey = new Unkey({ rootKey: api.rootKey, serverURL: api.url, httpClient });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
    analytics.remove();
  });

  const createApi = async (): Promise<string> => (await unkey.apis.createApi({ name: "client" })).data.apiId;

  test("[protocol §12] drives the life of a key, and no response fails its checks", async () => {
    const apiId = await createApi();
    expect((await unkey.apis.getApi({ apiId })).data).toEqual({ id: apiId, name: "client" });
    const { roleId } = (await unkey.permissions.createRole({ name: "editor", permissions: ["docs.write"] })).data;
    const { keyId, key } = (
      await unkey.keys.createKey({
        apiId,
        prefix: "client",
        name: "first",
        externalId: "user_1",
        meta: { plan: "pro" },
        permissions: ["docs.read"],
        roles: ["editor"],
        credits: { remaining: 100, refill: { interval: "daily", amount: 5 } },
        ratelimits: [{ name: "requests", limit: 10, duration: 60_000, autoApply: true }],
      })
    ).data;
    expect((await unkey.keys.getKey({ keyId })).data).toMatchObject({ keyId, permissions: ["docs.read", "docs.write"], roles: ["editor"] });
    expect((await unkey.keys.whoami({ key })).data.keyId).toBe(keyId);
    const verified = await unkey.keys.verifyKey({
      key,
      permissions: "docs.read AND docs.write",
      tags: ["path=/"],
      credits: { cost: 3 },
      ratelimits: [{ name: "inline", limit: 5, duration: 1_000 }],
    });
    expect(verified.data).toMatchObject({ valid: true, code: "VALID", credits: 97 });
    await unkey.keys.updateKey({ keyId, name: null, meta: { plan: "free" }, credits: { remaining: 5 }, externalId: null });
    expect((await unkey.keys.updateCredits({ keyId, operation: "increment", value: 5 })).data.remaining).toBe(10);
    expect((await unkey.keys.updateCredits({ keyId, operation: "set", value: null })).data.remaining).toBeNull();

    await unkey.keys.addPermissions({ keyId, permissions: ["docs.delete"] });
    await unkey.keys.setPermissions({ keyId, permissions: ["docs.delete", "docs.read"] });
    expect((await unkey.keys.removePermissions({ keyId, permissions: ["docs.delete"] })).data.map(({ slug }) => slug)).toEqual([
      "docs.read",
    ]);
    expect((await unkey.keys.removeRoles({ keyId, roles: ["editor"] })).data).toEqual([]);
    await unkey.keys.addRoles({ keyId, roles: ["editor"] });
    expect((await unkey.keys.setRoles({ keyId, roles: ["editor"] })).data[0]?.id).toBe(roleId);

    const rerolled = (await unkey.keys.rerollKey({ keyId, expiration: 0 })).data;
    expect((await unkey.keys.verifyKey({ key })).data.code).toBe("EXPIRED");
    expect((await collect(await unkey.apis.listKeys({ apiId, limit: 1 }))).map((each) => each.keyId).sort()).toEqual(
      [keyId, rerolled.keyId].sort(),
    );
    await unkey.keys.deleteKey({ keyId: rerolled.keyId, permanent: true });
    const imported = (await unkey.keys.migrateKeys({ apiId, migrationId, keys: [{ hash: hash("sha256", "imported"), name: "imported" }] }))
      .data;
    expect([imported.migrated.length, imported.failed]).toEqual([1, []]);
    await unkey.apis.deleteApi({ apiId });
  });

  test("[protocol §12] drives identities, permissions and roles", async () => {
    const { identityId } = (
      await unkey.identities.createIdentity({
        externalId: "acme",
        meta: { tier: 1 },
        ratelimits: [{ name: "shared", limit: 3, duration: 60_000, autoApply: true }],
      })
    ).data;
    expect((await unkey.identities.getIdentity({ identity: "acme" })).data.id).toBe(identityId);
    expect((await unkey.identities.updateIdentity({ identity: identityId, meta: {}, ratelimits: [] })).data.externalId).toBe("acme");
    expect((await collect(await unkey.identities.listIdentities({ limit: 1 }))).map(({ id }) => id)).toContain(identityId);
    await unkey.identities.deleteIdentity({ identity: identityId });

    const { permissionId } = (await unkey.permissions.createPermission({ name: "Billing", slug: "billing.read", description: "d" })).data;
    expect((await unkey.permissions.getPermission({ permission: "billing.read" })).data.id).toBe(permissionId);
    const { roleId } = (await unkey.permissions.createRole({ name: "billing", permissions: ["billing.read"] })).data;
    expect((await unkey.permissions.getRole({ role: roleId })).data.permissions?.[0]?.id).toBe(permissionId);
    expect((await unkey.permissions.setRolePermissions({ roleId, permissions: [] })).data).toEqual([]);
    expect((await collect(await unkey.permissions.listRoles({ limit: 1 }))).map(({ id }) => id)).toContain(roleId);
    expect((await collect(await unkey.permissions.listPermissions({ limit: 1 }))).map(({ id }) => id)).toContain(permissionId);
    await unkey.permissions.deletePermission({ permission: permissionId });
    await unkey.permissions.deleteRole({ role: roleId });
  });

  test("[protocol §12] drives rate limits and their overrides", async () => {
    const check = { namespace: "client", identifier: "user_1", limit: 10, duration: 600_000 };
    expect((await unkey.ratelimit.limit({ ...check, cost: 2 })).data).toMatchObject({ success: true, remaining: 8 });
    expect((await unkey.ratelimit.multiLimit([check, { ...check, identifier: "user_2" }])).data.passed).toBe(true);
    const override = { namespace: "client", identifier: "user_*" };
    const { overrideId } = (await unkey.ratelimit.setOverride({ ...override, limit: 0, duration: 600_000 })).data;
    expect((await unkey.ratelimit.limit(check)).data).toMatchObject({ success: false, limit: 0, overrideId });
    expect((await unkey.ratelimit.getOverride(override)).data.overrideId).toBe(overrideId);
    expect((await collect(await unkey.ratelimit.listOverrides({ namespace: "client" }))).length).toBe(1);
    await unkey.ratelimit.deleteOverride(override);
  });

  test("[protocol §12] asks for events in SQL, and recognises what is wrong with a query", async () => {
    const apiId = await createApi();
    const { key, keyId } = (await unkey.keys.createKey({ apiId, credits: { remaining: 5 } })).data;
    await unkey.keys.verifyKey({ key, tags: ["path=/"], credits: { cost: 2 } });
    await unkey.ratelimit.limit({ namespace: "sql", identifier: "user_sql", limit: 10, duration: 60_000 });
    const query = `SELECT outcome, tags, sum(spent_credits) AS spent FROM key_verifications_v1 WHERE key_id = '${keyId}' GROUP BY outcome, tags`;
    const verifications = async () => (await unkey.analytics.getVerifications({ query })).data;
    await expect.poll(verifications).toEqual([{ outcome: "VALID", tags: ["path=/"], spent: 2 }]);
    const checks = async () =>
      (await unkey.analytics.getRatelimits({ query: "SELECT passed, tokens FROM ratelimits_v1 WHERE identifier = 'user_sql'" })).data;
    await expect.poll(checks).toHaveLength(1);
    expect(await checks()).toEqual([{ passed: true, tokens: expect.any(Number) }]);
    await expect(unkey.analytics.getVerifications({ query: "SELECT 1" })).rejects.toBeInstanceOf(errors.BadRequestErrorResponse);
  });

  test("[protocol §12] asks for analytics, and has driven every procedure that it has by now", async () => {
    for (const rows of [
      (await unkey.analytics.getVerifications({ query: "SELECT COUNT(*) AS count FROM key_verifications_v1" })).data,
      (await unkey.analytics.getRatelimits({ query: "SELECT COUNT(*) AS count FROM ratelimits_v1" })).data,
    ]) {
      expect(rows).toEqual([{ count: expect.any(Number) }]);
    }
    expect(procedureNames.filter((name) => !driven.has(name))).toEqual(procedureNames.filter(unknownToTheClient));
  });

  test("[protocol §12] recognises errors by status and media type", async () => {
    const stranger = new Unkey({ rootKey: "lkr_nobody", serverURL: api.url });
    const powerless = new Unkey({ rootKey: await api.createRootKey({ permissions: ["api.*.read_api"] }), serverURL: api.url });
    await expect(unkey.keys.getKey({ keyId: "x" })).rejects.toBeInstanceOf(errors.BadRequestErrorResponse);
    await expect(stranger.apis.createApi({ name: "refused" })).rejects.toBeInstanceOf(errors.UnauthorizedErrorResponse);
    await expect(powerless.apis.createApi({ name: "refused" })).rejects.toBeInstanceOf(errors.ForbiddenErrorResponse);
    await expect(unkey.keys.getKey({ keyId: "key_unknown" })).rejects.toBeInstanceOf(errors.NotFoundErrorResponse);
    await expect(unkey.identities.deleteIdentity({ identity: "nobody" })).rejects.toBeInstanceOf(errors.NotFoundErrorResponse);
    await unkey.identities.createIdentity({ externalId: "twice" });
    await expect(unkey.identities.createIdentity({ externalId: "twice" })).rejects.toBeInstanceOf(errors.ConflictErrorResponse);
  });
});
