import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

everywhere((run) => {
  const writesNothing = async (calls: () => Promise<void>): Promise<void> => {
    const before = await everythingIn(run.api.store);
    await calls();
    expect(await everythingIn(run.api.store)).toEqual(before);
  };
  const weak = (...permissions: string[]): Promise<string> => run.api.createRootKey({ name: "weak", permissions });
  const getPermission = (permission: unknown): Promise<Record<string, unknown>> => run.data("permissions.getPermission", { permission });
  const getRole = (role: unknown): Promise<Record<string, unknown>> => run.data("permissions.getRole", { role });

  describe("permissions.createPermission", () => {
    test("[permissions §2] a permission has an id, its name, slug and description, and nothing else", async () => {
      const slug = run.unique("docs.read");
      const data = await run.data("permissions.createPermission", { name: "Read docs", slug, description: "May read." });
      expect(data).toEqual({ permissionId: expect.stringMatching(/^perm_[a-zA-Z0-9]{16,}$/) });
      const expected = { id: data.permissionId, name: "Read docs", slug, description: "May read." };
      expect(await getPermission(slug)).toEqual(expected);
      expect(await getPermission(data.permissionId)).toEqual(expected);
    });

    test.each([
      ["omitted", {}],
      ["empty", { description: "" }],
    ])("[permissions §2] a description that is %s is none", async (_, fields) => {
      const slug = run.unique("plain");
      await run.data("permissions.createPermission", { name: "n", slug, ...fields });
      expect(await getPermission(slug)).not.toHaveProperty("description");
    });

    test("[permissions §2] names are not unique; names, slugs and descriptions up to their bounds, exactly as sent", async () => {
      const texts = ["n", " ", "n".repeat(512), "😀".repeat(512), "a\u0000b", "\n", "__proto__"];
      const slugs = ["1", ":", "-.*", "*.*", "9starts.with.digit", "x".repeat(128)].map((slug) => slug.slice(0, 128));
      for (const [i, name] of texts.entries()) {
        const slug = `${run.unique("s")}${slugs[i] ?? ""}`.slice(0, 128);
        await run.data("permissions.createPermission", { name, slug, description: name });
        expect(await getPermission(slug)).toMatchObject({ name, slug, description: name });
      }
    });

    test.each([
      ["name", ["", "n".repeat(513), "😀".repeat(513)]],
      ["slug", ["", "s".repeat(129), "a b", "a/b", "a\n", "ä", "a\u0000", "😀"]],
      ["description", ["d".repeat(513), "😀".repeat(513)]],
    ])("[permissions §1] a %s outside its bounds is 400", async (field, texts) => {
      await writesNothing(async () => {
        for (const text of texts) {
          const body = { name: "fine", slug: run.unique("fine"), [field]: text };
          const error = expectError(await run.call("permissions.createPermission", body), 400, "unkey/application/invalid_input");
          expect(error.errors?.[0]?.location, JSON.stringify(text)).toBe(`body.${field}`);
        }
      });
    });

    test("[permissions §2] a slug that is taken in any letter case is 409, and the detail holds the slug asked for", async () => {
      const slug = run.unique("Docs.Write");
      await run.data("permissions.createPermission", { name: "first", slug });
      await writesNothing(async () => {
        for (const taken of [slug, slug.toUpperCase(), slug.toLowerCase()]) {
          const body = { name: "second", slug: taken };
          const error = expectError(await run.call("permissions.createPermission", body), 409, "unkey/data/permission_already_exists");
          expect(error.detail).toContain(taken);
        }
      });
      expect(await getPermission(slug.toUpperCase())).toMatchObject({ name: "first", slug });
    });

    test("[permissions §5] the slug of a deleted permission is free again, in any letter case, for a new id", async () => {
      const slug = run.unique("Again");
      const { permissionId } = await run.data("permissions.createPermission", { name: "first", slug });
      const { keyId, key } = await run.createKey({ permissions: [slug] });
      await run.data("permissions.deletePermission", { permission: slug });
      const again = await run.data("permissions.createPermission", { name: "second", slug: slug.toLowerCase() });
      expect(again.permissionId).not.toBe(permissionId);
      expect(await run.getKey(keyId)).not.toHaveProperty("permissions");
      expect(await run.verify(key)).not.toHaveProperty("permissions");
    });

    test("[permissions §1] a slug that is spelled like an id is no id; where both exist the id wins", async () => {
      const { permissionId } = await run.data("permissions.createPermission", { name: "owner", slug: run.unique("owner") });
      await run.data("permissions.createPermission", { name: "impostor", slug: permissionId });
      expect(await getPermission(permissionId)).toMatchObject({ name: "owner" });
      const { keyId } = await run.createKey({ permissions: [permissionId] });
      expect((await run.getKey(keyId)).permissions).toEqual([expect.stringMatching(/^owner-/)]);
    });

    test("[permissions §1] a user permission spelled like a root-key permission grants nothing on this service", async () => {
      await run.call("permissions.createPermission", { name: "n", slug: "api.*.create_api" });
      const { key } = await run.createKey({ permissions: ["api.*.create_api"] });
      expectError(await run.call("apis.createApi", { name: "refused" }, key), 401, "unkey/authentication/key_not_found");
    });
  });

  describe("permissions.createRole", () => {
    test("[permissions §6] a role has an id, its name and description, and the permissions it was given", async () => {
      const [name, slug] = [run.unique("Editor"), run.unique("docs.edit")];
      const { permissionId } = await run.data("permissions.createPermission", { name: "Edit", slug });
      const data = await run.data("permissions.createRole", { name, description: "Edits.", permissions: [slug] });
      expect(data).toEqual({ roleId: expect.stringMatching(/^role_[a-zA-Z0-9]{16,}$/) });
      expect(await getRole(name)).toEqual({
        id: data.roleId,
        name,
        description: "Edits.",
        permissions: [{ id: permissionId, name: "Edit", slug }],
      });
    });

    test.each([
      ["omitted", {}],
      ["empty", { description: "", permissions: [] }],
    ])("[permissions §6] %s description and permissions are none", async (_, fields) => {
      const name = run.unique("bare");
      const { roleId } = await run.data("permissions.createRole", { name, ...fields });
      expect(await getRole(name)).toEqual({ id: roleId, name });
    });

    test("[permissions §6] names of 1 to 128 characters in any script, exactly as sent", async () => {
      const names = ["R", " ", "😀".repeat(128), "Größe & Höhe", "役割\u0000", "a\nb", "constructor", "$in"];
      for (const stem of names) {
        const name =
          stem.length > 100 ? `${run.edge.slice(0, 1)}${[...stem].slice(run.edge.length).join("")}` : `${stem}${run.unique("r")}`;
        const { roleId } = await run.data("permissions.createRole", { name });
        expect(await getRole(roleId)).toEqual({ id: roleId, name });
      }
    });

    test.each([
      ["name", ["", "n".repeat(129), "😀".repeat(129)]],
      ["description", ["d".repeat(513), "😀".repeat(513)]],
    ])("[permissions §6] a %s outside its bounds is 400", async (field, texts) => {
      await writesNothing(async () => {
        for (const text of texts) {
          const body = { name: run.unique("fine"), permissions: [run.unique("not.made")], [field]: text };
          const error = expectError(await run.call("permissions.createRole", body), 400, "unkey/application/invalid_input");
          expect(error.errors?.map(({ location }) => location)).toEqual([`body.${field}`]);
        }
      });
    });

    test("[permissions §6] an item outside its bounds is 400 at its place", async () => {
      await writesNothing(async () => {
        for (const item of ["", "s".repeat(129), "a b", "ä", "a\n"]) {
          const body = { name: run.unique("fine"), permissions: ["fine", item] };
          const error = expectError(await run.call("permissions.createRole", body), 400, "unkey/application/invalid_input");
          expect(error.errors?.[0]?.location).toBe("body.permissions[1]");
        }
      });
    });

    test("[permissions §6] a name that is taken in any letter case is 409, and nothing is made, no permission either", async () => {
      const name = run.unique("Straße");
      await run.data("permissions.createRole", { name });
      await writesNothing(async () => {
        for (const taken of [name, name.toLowerCase(), `${name.slice(0, 3).toUpperCase()}${name.slice(3)}`]) {
          const body = { name: taken, permissions: [run.unique("not.made")] };
          const error = expectError(await run.call("permissions.createRole", body), 409, "unkey/data/role_already_exists");
          expect(error.detail).toContain(taken);
        }
      });
      await run.data("permissions.createRole", { name: ` ${name}` });
      await run.data("permissions.createRole", { name: name.replace("aß", "äß") });
    });

    test("[permissions §1] items resolve by id and by slug in any letter case, repeated ones collapse, missing ones are made", async () => {
      const [known, fresh, name] = [run.unique("Known"), run.unique("Fresh"), run.unique("role")];
      const { permissionId } = await run.data("permissions.createPermission", { name: "Known", slug: known });
      const permissions = [fresh, known.toUpperCase(), permissionId, fresh.toUpperCase(), known, fresh];
      await run.data("permissions.createRole", { name, permissions });
      const role = await getRole(name);
      expect(role.permissions).toEqual([
        { id: expect.stringMatching(/^perm_/), name: fresh, slug: fresh },
        { id: permissionId, name: "Known", slug: known },
      ]);
    });

    test("[permissions §11] a key with the role holds its permissions at once, wildcards too", async () => {
      const name = run.unique("holder");
      const { keyId, key } = await run.createKey();
      await run.data("permissions.createRole", { name, permissions: [`${name}.*`, `${name}:x`] });
      await run.data("keys.updateKey", { keyId, roles: [name] });
      expect(await run.verify(key, { permissions: `${name}.read AND ${name}:x` })).toMatchObject({ valid: true, roles: [name] });
      expect(await run.verify(key, { permissions: name })).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS" });
    });
  });

  describe("root-key permissions", () => {
    test("[permissions §14] createPermission needs rbac.*.create_permission, named in the 403, whatever the slug", async () => {
      const slug = run.unique("taken");
      await run.data("permissions.createPermission", { name: "n", slug });
      const caller = await weak("rbac.*.create_role", "rbac.*.add_permission_to_role", "api.*.create_key");
      await writesNothing(async () => {
        const details = [];
        for (const each of [slug, run.unique("free")]) {
          const body = { name: "n", slug: each };
          const { detail } = expectError(await run.call("permissions.createPermission", body, caller), 403, "insufficient_permissions");
          expect(detail).toContain("rbac.*.create_permission");
          details.push(detail);
        }
        expect(details[0]).toBe(details[1]);
        expectError(await run.call("permissions.createPermission", { name: "", slug }, caller), 400, "invalid_input");
      });
      await run.data("permissions.createPermission", { name: "n", slug: run.unique("ok") }, await weak("rbac.*.create_permission"));
    });

    test("[permissions §6] createRole asks for each permission only when it is needed, and names each that is missing", async () => {
      const [known, fresh] = [run.unique("known"), run.unique("fresh")];
      await run.data("permissions.createPermission", { name: "n", slug: known });
      const [create, both, all] = ["rbac.*.create_role", "rbac.*.add_permission_to_role", "rbac.*.create_permission"];
      const rows: readonly (readonly [held: string[], permissions: string[], missing: string[]])[] = [
        [[], [], [create]],
        [[both, all], [known], [create]],
        [[], [known], [create, both]],
        [[create, all], [known], [both]],
        [[create, both], [known, fresh], [all]],
        [[create, both], [fresh], [all]],
      ];
      await writesNothing(async () => {
        for (const [held, permissions, missing] of rows) {
          const body = { name: run.unique("refused"), permissions };
          const { detail } = expectError(
            await run.call("permissions.createRole", body, await weak(...held)),
            403,
            "insufficient_permissions",
          );
          for (const each of missing) expect(detail).toContain(each);
          for (const each of held) expect(detail).not.toContain(each);
        }
      });
      await run.data("permissions.createRole", { name: run.unique("role") }, await weak(create));
      await run.data("permissions.createRole", { name: run.unique("role"), permissions: [known.toUpperCase()] }, await weak(create, both));
      await run.data("permissions.createRole", { name: run.unique("role"), permissions: [fresh] }, await weak(create, both, all));
    });

    test("[permissions §1] createRole answers 403 before it says that the name is taken", async () => {
      const name = run.unique("taken");
      await run.data("permissions.createRole", { name });
      expectError(await run.call("permissions.createRole", { name }, await weak("rbac.*.read_role")), 403, "insufficient_permissions");
      const caller = await weak("rbac.*.create_role", "rbac.*.add_permission_to_role");
      const body = { name, permissions: [run.unique("fresh")] };
      expectError(await run.call("permissions.createRole", body, caller), 403, "insufficient_permissions");
    });
  });

  describe("audit", () => {
    test("[permissions §12] createPermission and createRole have one event per object and connection, sharing a correlation id", async () => {
      const [slug, fresh, role, caller] = [run.unique("slug"), run.unique("fresh"), run.unique("role"), run.unique("actor")];
      const rootKey = await run.api.createRootKey({ name: caller });
      const { permissionId } = await run.data("permissions.createPermission", { name: "Name", slug }, rootKey);
      await run.call("permissions.createPermission", { name: "Name", slug }, rootKey);
      const { roleId } = await run.data("permissions.createRole", { name: role, permissions: [slug, fresh, slug] }, rootKey);
      await run.call("permissions.createRole", { name: role, permissions: [run.unique("never")] }, rootKey);

      const [first, ...rest] = await eventsBy(run.api.store, caller);
      expect(first).toMatchObject({ event: "permission.create", resources: [{ type: "permission", id: permissionId, name: slug }] });
      expect(new Set(rest.map(({ correlationId }) => correlationId)).size).toBe(1);
      expect(rest[0]?.correlationId).not.toBe(first?.correlationId);
      const target = { type: "role", id: roleId, name: role };
      const made = { type: "permission", id: expect.stringMatching(/^perm_/), name: fresh };
      expect(rest.map(({ event, resources }) => ({ event, resources }))).toEqual(
        expect.arrayContaining([
          { event: "role.create", resources: [target] },
          { event: "permission.create", resources: [made] },
          { event: "authorization.connect_role_and_permission", resources: [target, { type: "permission", id: permissionId, name: slug }] },
          { event: "authorization.connect_role_and_permission", resources: [target, made] },
        ]),
      );
      expect(rest).toHaveLength(4);
    });
  });
});
