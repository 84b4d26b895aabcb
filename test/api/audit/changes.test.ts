// @same-on-every-engine
import { expect, test } from "vitest";
import { systemSource } from "../../../src/features/audit/auditEvent.ts";
import { createAuditLogRepository } from "../../../src/features/audit/auditLogRepository.ts";
import { createAuditMover } from "../../../src/features/audit/auditMover.ts";
import { updateRootKey } from "../../../src/features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository } from "../../../src/features/rootKeys/rootKeysRepository.ts";
import { allPermissions } from "../../../src/platform/authorization/authorization.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import type { KeyDocument } from "../../../src/platform/storage/port/documents.ts";
import { everywhere } from "../../support/everywhere.ts";

type Change = Readonly<Record<string, unknown>>;
interface Shown {
  readonly event: string;
  readonly resources: readonly { readonly id: string }[];
  readonly meta: { readonly sequence: number; readonly changes?: readonly Change[] };
}

everywhere((run) => {
  /** Moves them at once instead of waiting until the service does. */
  const move = () =>
    createAuditMover({
      clock: systemClock,
      auditLog: createAuditLogRepository(run.api.store),
      leases: { acquire: async () => true, release: async () => undefined },
    }).run();
  const eventsOf = async (resourceId: string): Promise<readonly Shown[]> => {
    await move();
    const page = (await run.data("audit.getLogs", { resourceId, limit: 500 })) as unknown as readonly Shown[];
    return page;
  };
  /** Returns the changes in the events that a call adds to an object; events without changes are left out. */
  const changesOf = async (resourceId: string, call: () => Promise<unknown>): Promise<readonly (readonly Change[])[]> => {
    const before = (await eventsOf(resourceId)).length;
    await call();
    return (await eventsOf(resourceId)).slice(before).flatMap(({ meta: { changes } }) => (changes === undefined ? [] : [changes]));
  };
  const update = (procedure: string, body: Readonly<Record<string, unknown>>, resourceId: string) =>
    changesOf(resourceId, () => run.data(procedure, body));

  test("[management §4] updateApi tells each field by its name in the contract; what was not there is absent", async () => {
    const apiId = await run.createApi();
    const { name } = await run.data("apis.getApi", { apiId });
    expect(await update("apis.updateApi", { apiId, name: "new name", deleteProtection: true, ipAllowlist: ["192.0.2.1"] }, apiId)).toEqual([
      [
        { field: "name", before: name, after: "new name" },
        { field: "deleteProtection", before: false, after: true },
        { field: "ipAllowlist", after: ["192.0.2.1/32"] },
      ],
    ]);
    expect(await update("apis.updateApi", { apiId, ipAllowlist: null, deleteProtection: false }, apiId)).toEqual([
      [
        { field: "deleteProtection", before: true, after: false },
        { field: "ipAllowlist", before: ["192.0.2.1/32"] },
      ],
    ]);
  });

  test("[management §8] a call that changes nothing writes its event with changes: []", async () => {
    const apiId = await run.createApi();
    const { name } = await run.data("apis.getApi", { apiId });
    expect(await update("apis.updateApi", { apiId }, apiId)).toEqual([[]]);
    expect(await update("apis.updateApi", { apiId, name, deleteProtection: false, ipAllowlist: null }, apiId)).toEqual([[]]);
    const { keyId } = await run.createKey({ name: "same", meta: { a: 1 } });
    expect(await update("keys.updateKey", { keyId }, keyId)).toEqual([[]]);
    expect(await update("keys.updateKey", { keyId, name: "same", meta: { a: 1 }, enabled: true }, keyId)).toEqual([[]]);
  });

  test("[management §4] an event that is not an update has no changes", async () => {
    const { keyId, apiId } = await run.createKey();
    await run.data("keys.deleteKey", { keyId });
    await run.data("apis.deleteApi", { apiId });
    for (const id of [keyId, apiId]) for (const { meta } of await eventsOf(id)) expect(meta).not.toHaveProperty("changes");
  });

  test("[management §4] updateKey tells every field that changed, and none that did not", async () => {
    const [roleName, slug, externalId] = [run.unique("role"), run.unique("perm"), run.unique("user")];
    await run.data("permissions.createRole", { name: roleName });
    const { keyId } = await run.createKey({ name: "old", meta: { a: 1, $set: { "x.y": null } }, credits: { remaining: 5 } });
    const ratelimit = { name: "requests", limit: 10, duration: 60_000, autoApply: true };
    const expires = 4_000_000_000_000;
    const fields = { name: "new", meta: { b: [1, "é"] }, expires, enabled: false, externalId };
    const others = { credits: { remaining: 7, refill: { interval: "daily", amount: 3 } }, ratelimits: [ratelimit] };
    const [told = []] = await update("keys.updateKey", { keyId, ...fields, ...others, roles: [roleName], permissions: [slug] }, keyId);
    const byField = new Map(told.map((change) => [change.field, change]));
    expect(Object.fromEntries(byField)).toEqual({
      name: { field: "name", before: "old", after: "new" },
      meta: { field: "meta", before: { a: 1, $set: { "x.y": null } }, after: { b: [1, "é"] } },
      expires: { field: "expires", after: expires },
      enabled: { field: "enabled", before: true, after: false },
      externalId: { field: "externalId", after: externalId },
      "credits.remaining": { field: "credits.remaining", before: 5, after: 7 },
      "credits.refill": { field: "credits.refill", after: { interval: "daily", amount: 3 } },
      ratelimits: { field: "ratelimits", before: [], after: [{ ...ratelimit, id: expect.stringMatching(/^rl_/) }] },
      roles: { field: "roles", before: [], after: [roleName] },
      permissions: { field: "permissions", before: [], after: [slug] },
    });
    expect(told).toHaveLength(byField.size);
    const nulls = { name: null, meta: null, expires: null, externalId: null, credits: null, ratelimits: null };
    const [gone = []] = await update("keys.updateKey", { keyId, ...nulls, roles: [], permissions: [] }, keyId);
    expect(new Map(gone.map(({ field, ...values }) => [field, values]))).toEqual(
      new Map<unknown, object>([
        ["name", { before: "new" }],
        ["externalId", { before: externalId }],
        ["meta", { before: { b: [1, "é"] } }],
        ["expires", { before: expires }],
        ["credits.remaining", { before: 7 }],
        ["credits.refill", { before: { interval: "daily", amount: 3 } }],
        ["permissions", { before: [slug], after: [] }],
        ["roles", { before: [roleName], after: [] }],
        ["ratelimits", { before: [expect.objectContaining(ratelimit)], after: [] }],
      ]),
    );
  });

  test("[management §4] an increment and a decrement tell by how much, a set from what to what", async () => {
    const { keyId } = await run.createKey({ credits: { remaining: 5 } });
    const credits = (operation: string, value: number | null) =>
      update("keys.updateCredits", { keyId, operation, ...(value === null ? { value: null } : { value }) }, keyId);
    const field = "credits.remaining";
    expect(await credits("increment", 4)).toEqual([[{ field, by: 4 }]]);
    expect(await credits("decrement", 2)).toEqual([[{ field, by: -2 }]]);
    expect(await credits("set", 100)).toEqual([[{ field, before: 7, after: 100 }]]);
    expect(await credits("set", 100)).toEqual([[]]);
    // More than there is: the balance is 0.
    expect(await credits("decrement", 200)).toEqual([[{ field, before: 100, after: 0 }]]);
    expect(await credits("set", null)).toEqual([[{ field, before: 0 }]]);
    expect(await credits("set", 3)).toEqual([[{ field, after: 3 }]]);
  });

  test("[management §8] permissions and roles are one field each, whole before and after, by slug and name", async () => {
    const { keyId } = await run.createKey();
    const [a = "", b = "", c = ""] = ["a", "b", "c"].map((stem) => run.unique(stem));
    const permissions = (does: string, ...slugs: string[]) => update(`keys.${does}Permissions`, { keyId, permissions: slugs }, keyId);
    const field = "permissions";
    expect(await permissions("add", b, a)).toEqual([[{ field, before: [], after: [a, b] }]]);
    expect(await permissions("set", c, b)).toEqual([[{ field, before: [a, b], after: [b, c] }]]);
    expect(await permissions("remove", b)).toEqual([[{ field, before: [b, c], after: [c] }]]);
    // Nothing changes: there is no event (permissions §11).
    expect(await permissions("add", c)).toEqual([]);

    const names = [run.unique("r"), run.unique("r")] as const;
    for (const name of names) await run.data("permissions.createRole", { name });
    const roles = (does: string, ...listed: string[]) => update(`keys.${does}Roles`, { keyId, roles: listed }, keyId);
    expect(await roles("add", names[0])).toEqual([[{ field: "roles", before: [], after: [names[0]] }]]);
    expect(await roles("set", names[1])).toEqual([[{ field: "roles", before: [names[0]], after: [names[1]] }]]);
    expect(await roles("remove", names[1])).toEqual([[{ field: "roles", before: [names[1]], after: [] }]]);
  });

  test("[management §4] identities, their limits, overrides, permissions, roles and root keys tell theirs", async () => {
    const externalId = run.unique("user");
    const limit = { name: "requests", limit: 10, duration: 60_000, autoApply: false };
    const { identityId } = (await run.data("identities.createIdentity", { externalId, meta: { a: 1 }, ratelimits: [limit] })) as {
      identityId: string;
    };
    const body = { identity: externalId, meta: { a: 2 }, ratelimits: [{ ...limit, limit: 20 }] };
    expect(await update("identities.updateIdentity", body, identityId)).toEqual([
      [
        { field: "meta", before: { a: 1 }, after: { a: 2 } },
        { field: "ratelimits", before: [expect.objectContaining(limit)], after: [expect.objectContaining({ ...limit, limit: 20 })] },
      ],
      [{ field: "limit", before: 10, after: 20 }],
    ]);

    const namespace = run.unique("ns");
    await run.data("ratelimit.limit", { namespace, identifier: "x", limit: 1, duration: 1_000 });
    const override = { namespace, identifier: "user_*", limit: 5, duration: 1_000 };
    const { overrideId } = (await run.data("ratelimit.setOverride", override)) as { overrideId: string };
    expect(await update("ratelimit.setOverride", { ...override, limit: 6 }, overrideId)).toEqual([
      [{ field: "limit", before: 5, after: 6 }],
    ]);
    expect(await update("ratelimit.setOverride", { ...override, limit: 6 }, overrideId)).toEqual([[]]);

    const slug = run.unique("slug");
    const { permissionId } = (await run.data("permissions.createPermission", { name: "n", slug })) as { permissionId: string };
    expect(await update("permissions.updatePermission", { permission: slug, name: "m", description: "d" }, permissionId)).toEqual([
      [
        { field: "name", before: "n", after: "m" },
        { field: "description", after: "d" },
      ],
    ]);
    const role = run.unique("role");
    const { roleId } = (await run.data("permissions.createRole", { name: role, description: "d" })) as { roleId: string };
    expect(await update("permissions.updateRole", { role, description: null }, roleId)).toEqual([[{ field: "description", before: "d" }]]);
    expect(await update("permissions.setRolePermissions", { role, permissions: [slug] }, roleId)).toEqual([
      [{ field: "permissions", before: [], after: [slug] }],
    ]);

    const { keyId } = (await run.data("rootKeys.createKey", { name: "a", permissions: ["api.*.read_api"] })) as { keyId: string };
    const change = { keyId, name: null, permissions: ["api.*.create_api", "api.*.read_api"], enabled: false, expires: 4_000_000_000_000 };
    expect(await update("rootKeys.updateKey", change, keyId)).toEqual([
      [
        { field: "name", before: "a" },
        { field: "permissions", before: ["api.*.read_api"], after: ["api.*.create_api", "api.*.read_api"] },
        { field: "enabled", before: true, after: false },
        { field: "expires", after: 4_000_000_000_000 },
      ],
    ]);
  });

  test("[management §4] a root key that holds every permission tells them all, and not that there were none", async () => {
    const field = "permissions";
    const { keyId } = (await run.data("rootKeys.createKey", { permissions: ["api.*.read_api"] })) as { keyId: string };
    const rootKeys = createRootKeysRepository(run.api.store);
    const set = (permissions: readonly string[] | null) => updateRootKey(rootKeys, keyId, { permissions }, systemSource(systemClock));
    const all = JSON.stringify(allPermissions).slice(0, 1_024);
    expect(await changesOf(keyId, () => set(null))).toEqual([[{ field, before: ["api.*.read_api"], after: all, truncated: true }]]);
    expect(await changesOf(keyId, () => set(null))).toEqual([[]]);
    expect(await changesOf(keyId, () => set([]))).toEqual([[{ field, before: all, after: [], truncated: true }]]);
  });

  test("[management §4] a reroll tells when the old key ends from now on, if that changes", async () => {
    const expires = 4_000_000_000_000;
    const { keyId } = await run.createKey({ expires });
    const { keyId: rootKeyId } = (await run.data("rootKeys.createKey", { permissions: ["api.*.read_api"] })) as { keyId: string };
    const reroll = (service: string, id: string, expiration: number | null) =>
      update(`${service}.rerollKey`, { keyId: id, expiration }, id);
    expect(await reroll("keys", keyId, 3_000_000_000_000)).toEqual([]);
    expect(await reroll("keys", keyId, 60_000)).toEqual([[{ field: "expires", before: expires, after: expect.any(Number) }]]);
    expect(await reroll("rootKeys", rootKeyId, null)).toEqual([]);
    expect(await reroll("rootKeys", rootKeyId, 60_000)).toEqual([[{ field: "expires", after: expect.any(Number) }]]);
    const [[told] = []] = await reroll("rootKeys", rootKeyId, 0);
    expect(told).toMatchObject({ field: "expires" });
    expect(told?.after).toBeLessThan(told?.before as number);
  });

  test("[management §4] values over 1 KiB are cut, also of a meta of 60 KiB and of many permissions", async () => {
    const { keyId } = await run.createKey();
    const meta = { text: "é😀".repeat(10_000) };
    const json = JSON.stringify(meta);
    const [[change] = []] = await update("keys.updateKey", { keyId, meta }, keyId);
    expect(change).toMatchObject({ field: "meta", truncated: true });
    const { after } = change as { after: string };
    expect(json.startsWith(after)).toBe(true);
    expect(Buffer.byteLength(after)).toBeGreaterThan(1_020);
    expect(Buffer.byteLength(after)).toBeLessThanOrEqual(1_024);
    expect(await update("keys.updateKey", { keyId, meta: { a: 1 } }, keyId)).toEqual([
      [{ field: "meta", before: after, after: { a: 1 }, truncated: true }],
    ]);
    const slugs = Array.from({ length: 60 }, () => run.unique("a-long-permission-of-many"));
    const [[listed] = [], ...others] = await update("keys.setPermissions", { keyId, permissions: slugs }, keyId);
    expect([listed?.before, listed?.truncated, others]).toEqual([[], true, []]);
    expect(JSON.stringify([...slugs].sort()).startsWith(listed?.after as string)).toBe(true);
  });

  test("[management §4] neither a secret nor its hash is ever recorded", async () => {
    const { keyId, key } = await run.createKey({ name: "n" });
    await run.data("keys.updateKey", { keyId, name: "m" });
    const stored = (await run.api.store.collection("keys").findOne({ _id: keyId })) as KeyDocument;
    const root = (await run.data("rootKeys.createKey", { permissions: ["api.*.read_api"] })) as { keyId: string; key: string };
    await run.data("rootKeys.updateKey", { keyId: root.keyId, name: "m" });
    const log = JSON.stringify([await eventsOf(keyId), await eventsOf(root.keyId)]);
    for (const secret of [key, stored.hash ?? "", `"${stored.start}"`, root.key]) expect(log).not.toContain(secret);
  });

  test("[management §4] concurrent updates each tell what they found, and the chain of them has no gap", async () => {
    const { keyId } = await run.createKey({ name: "n0" });
    const told = await changesOf(keyId, () =>
      Promise.all(Array.from({ length: 8 }, (_, i) => run.data("keys.updateKey", { keyId, name: `n${i + 1}` }))),
    );
    expect(told).toHaveLength(8);
    const steps = new Map(told.map(([change]) => [change?.before, change?.after]));
    let name: unknown = "n0";
    for (let i = 0; i < 8; i++) name = steps.get(name);
    expect((await run.getKey(keyId)).name).toBe(name);
  });

  test("[management §4] a follower sees an update's changes within five seconds, and the chain verifies with them", async () => {
    const apiId = await run.createApi();
    await run.data("apis.updateApi", { apiId, name: "followed" });
    const changed = async () => {
      const page = (await run.data("audit.getLogs", { resourceId: apiId, event: ["api.update"] })) as unknown as readonly Shown[];
      return page.map(({ meta }) => meta.changes);
    };
    await expect
      .poll(changed, { timeout: 5_000, interval: 50 })
      .toEqual([[{ field: "name", before: expect.any(String), after: "followed" }]]);
    expect(await run.data("audit.verifyChain", {})).toMatchObject({ intact: true });
  });
});
