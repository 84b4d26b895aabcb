import { describe, expect, test } from "vitest";
import { dataOf, expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

interface ShownApi {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt?: number;
  readonly deleteProtection: boolean;
  readonly ipAllowlist?: readonly string[];
}

everywhere((run) => {
  const shown = async (apiId: string): Promise<ShownApi> => {
    const [api] = dataOf(await run.call("apis.listApis", { search: apiId })) as unknown as ShownApi[];
    return api ?? expect.unreachable();
  };
  const update = (body: object, rootKey?: string) => run.call("apis.updateApi", body, rootKey);

  describe("apis.updateApi", () => {
    test("[management §2] sent fields change, omitted ones stay, and updatedAt moves", async () => {
      const apiId = await run.createApi();
      const before = await shown(apiId);
      expect(before).not.toHaveProperty("updatedAt");
      expect(dataOf(await update({ apiId, name: "renamed 😀" }))).toEqual({});
      const renamed = await shown(apiId);
      expect(renamed).toEqual({ ...before, name: "renamed 😀", updatedAt: expect.any(Number) });
      expect(renamed.updatedAt).toBeGreaterThanOrEqual(before.createdAt);
      await update({ apiId, deleteProtection: true, ipAllowlist: ["127.0.0.1"] });
      const set = { ...renamed, updatedAt: expect.any(Number), deleteProtection: true, ipAllowlist: ["127.0.0.1/32"] };
      expect(await shown(apiId)).toEqual(set);
      await update({ apiId, name: "again" });
      expect(await shown(apiId)).toEqual({ ...set, name: "again" });
      await update({ apiId, deleteProtection: false });
      expect(await shown(apiId)).toEqual({ ...set, name: "again", deleteProtection: false });
      await update({ apiId, ipAllowlist: null });
      const { ipAllowlist: _, ...open } = set;
      expect(await shown(apiId)).toEqual({ ...open, name: "again", deleteProtection: false });
      expect(await run.data("apis.getApi", { apiId })).toEqual({ id: apiId, name: "again" });
    });

    test("[management §2] the bounds of name are those of createApi", async () => {
      const apiId = await run.createApi();
      for (const name of ["ab", "😀".repeat(257), 5, null]) {
        const error = expectError(await update({ apiId, name }), 400, "unkey/application/invalid_input");
        expect(error.errors?.map(({ location }) => location)).toEqual(["body.name"]);
      }
      for (const name of ["abc", "😀".repeat(256)]) {
        expect(dataOf(await update({ apiId, name }))).toEqual({});
        expect((await shown(apiId)).name).toBe(name);
      }
    }, 20_000);

    test("[management §2] a protected API is not deleted until that is lifted", async () => {
      const apiId = await run.createApi();
      await update({ apiId, deleteProtection: true });
      expectError(await run.call("apis.deleteApi", { apiId }), 412, "unkey/application/protected_resource");
      await update({ apiId, deleteProtection: false });
      expect(await run.data("apis.deleteApi", { apiId })).toEqual({});
    });

    test("[management §2] verifications apply a new list, a replaced one and its removal at once", async () => {
      const { apiId, key } = await run.createKey();
      for (const [ipAllowlist, code] of [
        [["192.0.2.1"], "FORBIDDEN"],
        [["127.0.0.0/8", "::1"], "VALID"],
        [["2001:db8::/32"], "FORBIDDEN"],
        [null, "VALID"],
      ] as const) {
        await run.verify(key);
        dataOf(await update({ apiId, ipAllowlist }));
        expect((await run.verify(key)).code).toBe(code);
      }
    });

    test("[protocol §7] another node applies a list, too", async () => {
      const other = await run.other();
      const { apiId, key } = await run.createKey();
      const code = async () => (await run.data("keys.verifyKey", { key }, undefined, other)).code;
      expect(await code()).toBe("VALID");
      dataOf(await update({ apiId, ipAllowlist: ["192.0.2.1"] }));
      await expect.poll(code, { timeout: 30_000 }).toBe("FORBIDDEN");
    });

    test("[management §8] entries are stored and shown as address/prefix, those that come twice once", async () => {
      const apiId = await run.createApi();
      const ipAllowlist = [
        ...["192.0.2.1", "10.0.0.0/8", "192.0.2.1/32", "::ffff:192.0.2.1", "2001:DB8::/32", "::1", "10.0.0.0/8"],
        ...["10.1.2.3/8", "2001:0db8:0:1::7/32", "0:0:0:0:0:0:0:1"],
      ];
      await update({ apiId, ipAllowlist });
      expect((await shown(apiId)).ipAllowlist).toEqual(["192.0.2.1/32", "10.0.0.0/8", "2001:db8::/32", "::1/128"]);
    });

    test("[management §8] every wrong entry is one violation that says which one and why, and nothing changes", async () => {
      const apiId = await run.createApi();
      const before = await everythingIn(run.api.store);
      const wrong = [
        "",
        " 192.0.2.1",
        "example.com",
        "10.0.0.0/33",
        "::1/129",
        "10.0.0.0/8/8",
        "fe80::1%eth0",
        "1.2.3",
        "x".repeat(100_000),
        "😀",
      ];
      const ipAllowlist = ["192.0.2.1", ...wrong.flatMap((text) => [text, "10.0.0.0/8"])];
      const answer = await update({ apiId, name: "never", ipAllowlist });
      const error = expectError(answer, 400, "unkey/application/invalid_input");
      expect(error.errors).toEqual(
        wrong.map((_, i) => ({
          location: `body.ipAllowlist[${1 + 2 * i}]`,
          message: expect.stringMatching(/neither an IP address nor a network/),
          fix: expect.any(String),
        })),
      );
      expect(await everythingIn(run.api.store)).toEqual(before);
    });

    test("[protocol §6] wrong entries are reported together with other violations", async () => {
      const answer = await update({ apiId: await run.createApi(), name: "ab", ipAllowlist: ["192.0.2.1", "x"] });
      expect(answer.body.error?.errors?.map(({ location }) => location).sort()).toEqual(["body.ipAllowlist[1]", "body.name"]);
    });

    test("[management §2] a list has 1 to 1000 entries", async () => {
      const apiId = await run.createApi();
      const entries = (count: number) => Array.from({ length: count }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
      // The other edges of the tests send no items beyond the bound.
      for (const count of run.edge === "v2" ? [0, 1001] : [0]) {
        const error = expectError(await update({ apiId, ipAllowlist: entries(count) }), 400, "unkey/application/invalid_input");
        expect(error.errors?.map(({ location }) => location)).toEqual(["body.ipAllowlist"]);
      }
      for (const count of [1, 1000]) {
        expect(dataOf(await update({ apiId, ipAllowlist: entries(count) }))).toEqual({});
        expect((await shown(apiId)).ipAllowlist).toHaveLength(count);
      }
    });

    test("[management §8] 400 before 403, 403 before 404, which is the same for unknown and deleted APIs", async () => {
      const apiId = await run.createApi();
      const weak = await run.api.createRootKey({ permissions: ["api.*.read_api", "api.*.delete_api", "api.api_other12.update_api"] });
      expectError(await update({ apiId, ipAllowlist: ["x"] }, weak), 400, "unkey/application/invalid_input");
      for (const id of [apiId, "api_unknown1"]) {
        const error = expectError(await update({ apiId: id, name: "never" }, weak), 403, "insufficient_permissions");
        expect(error.detail).toContain(`api.${id}.update_api or api.*.update_api`);
      }
      const own = await run.api.createRootKey({ permissions: [`api.${apiId}.update_api`] });
      expect(dataOf(await update({ apiId, name: "allowed" }, own))).toEqual({});
      await run.data("apis.deleteApi", { apiId });
      for (const id of [apiId, "api_unknown1"]) expectError(await update({ apiId: id, name: "never" }), 404, "unkey/data/api_not_found");
    });

    test("[management §8] every call is one event api.update, also one that changes nothing, which moves updatedAt", async () => {
      const apiId = await run.createApi();
      const caller = run.unique("updater");
      const rootKey = await run.api.createRootKey({ name: caller });
      const times: number[] = [];
      for (const body of [{}, { deleteProtection: false }, { deleteProtection: true }, { ipAllowlist: ["::1"] }, { name: "renamed" }]) {
        dataOf(await update({ apiId, ...body }, rootKey));
        times.push((await shown(apiId)).updatedAt ?? expect.unreachable());
      }
      expect(times).toEqual([...times].sort((a, b) => a - b));
      const events = await eventsBy(run.api.store, caller);
      expect(events.map(({ event }) => event)).toEqual(Array(5).fill("api.update"));
      expect(events.map(({ display }) => display).sort()).toEqual(
        [
          `Lifted the deletion protection of API ${apiId}`,
          `Protected API ${apiId} against deletion`,
          `Set the IP allow list of API ${apiId}`,
          `Updated API ${apiId}`,
          `Updated API ${apiId}`,
        ].sort(),
      );
      for (const { resources } of events) expect(resources).toEqual([expect.objectContaining({ type: "api", id: apiId })]);
    });

    test("[management §2] updates at the same time all happen", async () => {
      const apiId = await run.createApi();
      const other = await run.other();
      const bodies = [{ name: "together" }, { deleteProtection: true }, { ipAllowlist: ["::1"] }, {}, {}, {}];
      await Promise.all(bodies.map((body, i) => run.data("apis.updateApi", { apiId, ...body }, undefined, i % 2 ? other : run.api)));
      expect(await shown(apiId)).toMatchObject({ name: "together", deleteProtection: true, ipAllowlist: ["::1/128"] });
    });
  });

  describe("ratelimit.deleteNamespace", () => {
    const NOT_FOUND = "unkey/data/ratelimit_namespace_not_found";
    const limitOf = (namespace: string) => ({ namespace, identifier: "user", limit: 5, duration: 60_000 });
    const createNamespace = async (): Promise<{ name: string; id: string }> => {
      const name = run.unique("namespace");
      await run.data("ratelimit.limit", limitOf(name));
      const found = await run.api.store.collection("namespaces").findOne({ workspaceId: "ws_default", name });
      return { name, id: found?._id ?? expect.unreachable() };
    };

    test("[management §3] by id or name: checks are 410 at once, all else 404, and the name stays taken", async () => {
      for (const by of ["name", "id"] as const) {
        const namespace = await createNamespace();
        expect(await run.data("ratelimit.deleteNamespace", { namespace: namespace[by] })).toEqual({});
        for (const named of [namespace.name, namespace.id]) {
          expectError(await run.call("ratelimit.limit", limitOf(named)), 410, "unkey/data/ratelimit_namespace_gone");
          expectError(await run.call("ratelimit.listOverrides", { namespace: named }), 404, NOT_FOUND);
          expectError(await run.call("ratelimit.deleteNamespace", { namespace: named }), 404, NOT_FOUND);
        }
      }
      expectError(await run.call("ratelimit.deleteNamespace", { namespace: run.unique("never") }), 404, NOT_FOUND);
    });

    test("[management §8] 404, then 403", async () => {
      const { name, id } = await createNamespace();
      const weak = await run.api.createRootKey({ permissions: ["ratelimit.*.read_namespace", "ratelimit.*.limit"] });
      expectError(await run.call("ratelimit.deleteNamespace", { namespace: run.unique("never") }, weak), 404, NOT_FOUND);
      const error = expectError(await run.call("ratelimit.deleteNamespace", { namespace: name }, weak), 403, "insufficient_permissions");
      expect(error.detail).toContain(`ratelimit.${id}.delete_namespace or ratelimit.*.delete_namespace`);
      const own = await run.api.createRootKey({ permissions: [`ratelimit.${id}.delete_namespace`] });
      expect(await run.data("ratelimit.deleteNamespace", { namespace: name }, own)).toEqual({});
    });

    test("[management §3] of concurrent deletions exactly one happens, with one event", async () => {
      const { name, id } = await createNamespace();
      const caller = run.unique("remover");
      const rootKey = await run.api.createRootKey({ name: caller });
      const other = await run.other();
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, i) => run.call("ratelimit.deleteNamespace", { namespace: name }, rootKey, i % 2 ? other : run.api)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(5).fill(404)]);
      expect(await eventsBy(run.api.store, caller)).toEqual([
        expect.objectContaining({ event: "ratelimitNamespace.delete", resources: [{ type: "ratelimitNamespace", id, name }] }),
      ]);
    });

    test("[management §3] a name has 1 to 512 characters", async () => {
      for (const namespace of ["", "😀".repeat(513), 5]) {
        const error = expectError(await run.call("ratelimit.deleteNamespace", { namespace }), 400, "unkey/application/invalid_input");
        expect(error.errors?.map(({ location }) => location)).toEqual(["body.namespace"]);
      }
      expectError(await run.call("ratelimit.deleteNamespace", { namespace: "😀".repeat(512) }), 404, NOT_FOUND);
    });
  });
});
