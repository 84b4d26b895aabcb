import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

interface Role {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly permissions?: readonly { readonly slug: string }[];
}
type Procedure = "addRoles" | "removeRoles" | "setRoles";
const all: readonly Procedure[] = ["addRoles", "removeRoles", "setRoles"];

everywhere((run) => {
  const change = (procedure: Procedure, keyId: string, roles: readonly string[], rootKey?: string) =>
    run.data(`keys.${procedure}`, { keyId, roles }, rootKey) as unknown as Promise<Role[]>;
  const namesAfter = async (...args: Parameters<typeof change>) => (await change(...args)).map(({ name }) => name);
  /** Roles with names in order, each with its fields. */
  const defineRoles = async <const T extends readonly object[]>(...fields: T): Promise<{ [K in keyof T]: string }> => {
    const names: string[] = [];
    for (const [i, each] of fields.entries()) {
      const name = run.unique(`role ${"abcdef"[i]}`);
      await run.data("permissions.createRole", { name, ...each });
      names.push(name);
    }
    return names as { [K in keyof T]: string };
  };

  describe("effects", () => {
    test("[permissions §11] addRoles adds and keeps the rest, removeRoles removes, setRoles replaces", async () => {
      const [a, b, c, d] = await defineRoles({}, {}, {}, {});
      const { keyId } = await run.createKey({ roles: [b] });
      expect(await namesAfter("addRoles", keyId, [c, a])).toEqual([a, b, c]);
      expect(await namesAfter("removeRoles", keyId, [b])).toEqual([a, c]);
      expect(await namesAfter("setRoles", keyId, [d, a])).toEqual([a, d]);
      expect(await namesAfter("setRoles", keyId, [])).toEqual([]);
      expect(await run.getKey(keyId)).not.toHaveProperty("roles");
    });

    test("[permissions §11] the answer is the key's complete list of roles, by name, permissions expanded", async () => {
      const [x, y] = [run.unique("docs.x"), run.unique("docs.y")];
      const [a, b] = await defineRoles({ description: "Reads", permissions: [y, x] }, {});
      const { keyId } = await run.createKey();
      const permission = (slug: string) => ({ id: expect.stringMatching(/^perm_/), name: slug, slug });
      const expected = [
        { id: expect.stringMatching(/^role_[a-zA-Z0-9]+$/), name: a, description: "Reads", permissions: [permission(x), permission(y)] },
        { id: expect.stringMatching(/^role_[a-zA-Z0-9]+$/), name: b },
      ];
      expect(await change("addRoles", keyId, [b, a])).toEqual(expected);
      expect(await change("setRoles", keyId, [a, b])).toEqual(expected);
      expect(await change("removeRoles", keyId, [b])).toEqual(expected.slice(0, 1));
    });

    test("[permissions §11] each change holds for the next verification, and never touches direct permissions", async () => {
      const [direct, inherited] = [run.unique("direct"), run.unique("inherited")];
      const [role, empty] = await defineRoles({ permissions: [inherited, direct] }, {});
      const { keyId, key } = await run.createKey({ permissions: [direct] });
      const verified = async () => {
        const { roles, permissions } = await run.verify(key, { permissions: direct });
        return { roles, permissions };
      };
      await change("addRoles", keyId, [role]);
      expect(await verified()).toEqual({ roles: [role], permissions: [direct, inherited] });
      await change("setRoles", keyId, [empty]);
      expect(await verified()).toEqual({ roles: [empty], permissions: [direct] });
      await change("removeRoles", keyId, [empty]);
      expect(await verified()).toEqual({ permissions: [direct] });
    });

    test("[permissions §11] none of them changes updatedAt or anything else of the key", async () => {
      const [a, b] = await defineRoles({}, {});
      const { keyId } = await run.createKey({ name: "kept", credits: { remaining: 5 }, meta: { a: 1 }, roles: [a] });
      const before = await run.getKey(keyId);
      await change("setRoles", keyId, [b]);
      await change("addRoles", keyId, [a]);
      await change("removeRoles", keyId, [b]);
      expect(await run.getKey(keyId)).toEqual(before);
    });

    test.each([
      ["disabled", { enabled: false }],
      ["expired", { expires: 0 }],
      ["exhausted", { credits: { remaining: 0 } }],
    ])("[permissions §11] a key that is %s can be changed", async (_, fields) => {
      const [role] = await defineRoles({});
      const { keyId } = await run.createKey(fields);
      for (const procedure of ["addRoles", "setRoles"] as const) expect(await namesAfter(procedure, keyId, [role])).toEqual([role]);
      expect(await namesAfter("removeRoles", keyId, [role])).toEqual([]);
    });

    test("[permissions §10a] a renamed role stays with the key, and only its new name is known", async () => {
      const [role] = await defineRoles({});
      const { keyId } = await run.createKey({ roles: [role] });
      await run.data("permissions.updateRole", { role, name: `${role}!` });
      expect(await namesAfter("addRoles", keyId, [`${role}!`])).toEqual([`${role}!`]);
      expectError(await run.call("keys.removeRoles", { keyId, roles: [role] }), 404, "unkey/data/role_not_found");
    });
  });

  describe("names", () => {
    test.each(all)("[permissions §11] %s of a name that no role has is 404, names it, and changes nothing", async (procedure) => {
      const [role] = await defineRoles({});
      const missing = run.unique("no such role");
      const { keyId } = await run.createKey({ roles: [role] });
      const before = await everythingIn(run.api.store);
      const answer = await run.call(`keys.${procedure}`, { keyId, roles: [role, missing] });
      expect(expectError(answer, 404, "unkey/data/role_not_found").detail).toContain(missing);
      expect(await everythingIn(run.api.store)).toEqual(before);
    });

    test.each(all)("[permissions §1] %s compares names exactly: other letters, an id or blanks are 404", async (procedure) => {
      const name = run.unique("Admin Rolle é");
      const { roleId } = await run.data("permissions.createRole", { name });
      const { keyId } = await run.createKey({ roles: [name] });
      for (const wrong of [name.toUpperCase(), name.toLowerCase(), roleId, ` ${name}`, name.normalize("NFD")]) {
        expectError(await run.call(`keys.${procedure}`, { keyId, roles: [wrong] }), 404, "unkey/data/role_not_found");
      }
      expect(await namesAfter(procedure, keyId, [name, name])).toEqual(procedure === "removeRoles" ? [] : [name]);
    });

    test("[permissions §9] a deleted role is gone from the list, and a new one of that name is another role", async () => {
      const [a, b] = await defineRoles({}, {});
      const { keyId, key } = await run.createKey({ roles: [a, b] });
      const old = await run.data("permissions.getRole", { role: a });
      await run.data("permissions.deleteRole", { role: a });
      expect(await namesAfter("addRoles", keyId, [b])).toEqual([b]);
      expectError(await run.call("keys.addRoles", { keyId, roles: [a] }), 404, "unkey/data/role_not_found");
      await run.data("permissions.createRole", { name: a });
      expect(await run.verify(key)).toMatchObject({ roles: [b] });
      const [again] = await change("setRoles", keyId, [a]);
      expect(again).toMatchObject({ name: a });
      expect(again?.id).not.toBe(old.id);
    });
  });

  describe("events", () => {
    test("[permissions §12] one event for each role that is connected or disconnected, named, with one correlation id", async () => {
      const name = run.unique("auditor");
      const rootKey = await run.api.createRootKey({ name });
      const [kept, gone, fresh] = await defineRoles({}, {}, {});
      const { keyId } = await run.createKey({ name: "audited", roles: [kept, gone] });
      await change("setRoles", keyId, [kept, fresh], rootKey);
      const events = await eventsBy(run.api.store, name);
      const key = { type: "key", id: keyId, name: "audited" };
      const role = (roleName: string) => ({ type: "role", id: expect.stringMatching(/^role_/), name: roleName });
      expect(events.map(({ event, resources }) => ({ event, resources }))).toEqual(
        expect.arrayContaining([
          { event: "authorization.connect_role_and_key", resources: [key, role(fresh)] },
          { event: "authorization.disconnect_role_and_key", resources: [key, role(gone)] },
        ]),
      );
      expect(events).toHaveLength(2);
      expect(new Set(events.map(({ correlationId }) => correlationId)).size).toBe(1);
    });

    test("[permissions §11] a call that changes nothing is 200 with the current list, and writes and audits nothing", async () => {
      const [a, b, other, deleted] = await defineRoles({}, {}, {}, {});
      const { keyId } = await run.createKey({ roles: [a, b, deleted] });
      await run.data("permissions.deleteRole", { role: deleted });
      const before = await everythingIn(run.api.store);
      expect(await namesAfter("addRoles", keyId, [b, a])).toEqual([a, b]);
      expect(await namesAfter("setRoles", keyId, [b, a, a])).toEqual([a, b]);
      expect(await namesAfter("removeRoles", keyId, [other])).toEqual([a, b]);
      expect(await everythingIn(run.api.store)).toEqual(before);
    });
  });

  describe("refusals", () => {
    test.each(all)("[permissions §11] %s needs update_key on the key's API, and only addRoles an rbac permission", async (procedure) => {
      const [role] = await defineRoles({});
      const [mine, foreign] = [await run.createKey(), await run.createKey()];
      const rbac = procedure === "addRoles" ? ["rbac.*.add_role_to_key"] : [];
      const update = `api.${mine.apiId}.update_key`;
      const others = ["rbac.*.remove_role_from_key", "rbac.*.create_role", "rbac.*.update_role", "api.*.read_key"];
      const refused = async (permissions: readonly string[], missing: readonly string[]) => {
        const rootKey = await run.api.createRootKey({ permissions });
        const before = await everythingIn(run.api.store);
        const answer = await run.call(`keys.${procedure}`, { keyId: mine.keyId, roles: [role] }, rootKey);
        const { detail } = expectError(answer, 403, "unkey/authorization/insufficient_permissions");
        for (const each of missing) expect(detail).toContain(each);
        for (const each of permissions) expect(detail).not.toContain(each);
        expect(await everythingIn(run.api.store)).toEqual(before);
      };
      await refused(others, ["api.*.update_key", update, ...rbac]);
      await refused([`api.${foreign.apiId}.update_key`, ...rbac], [update]);
      if (rbac.length > 0) await refused([update, ...others], rbac);
      const enough = await run.api.createRootKey({ permissions: [update, ...rbac] });
      await change(procedure, mine.keyId, [role], enough);
    });

    test.each(all)(
      "[permissions §1] %s: an unknown key is 404 before any 403, and a 403 comes before the roles are looked up",
      async (procedure) => {
        const [deleted, orphan, live] = [await run.createKey(), await run.createKey(), await run.createKey()];
        await run.data("keys.deleteKey", { keyId: deleted.keyId });
        await run.data("apis.deleteApi", { apiId: orphan.apiId });
        const rootKeyId = (await run.api.store.collection("rootKeys").findOne({}))?._id;
        const none = await run.api.createRootKey({ permissions: [] });
        for (const keyId of ["key_unknown", deleted.keyId, orphan.keyId, deleted.key, rootKeyId]) {
          for (const rootKey of [none, undefined]) {
            expectError(await run.call(`keys.${procedure}`, { keyId, roles: ["unknown"] }, rootKey), 404, "unkey/data/key_not_found");
          }
        }
        const answer = await run.call(`keys.${procedure}`, { keyId: live.keyId, roles: ["unknown"] }, none);
        expectError(answer, 403, "unkey/authorization/insufficient_permissions");
      },
    );
  });
});
