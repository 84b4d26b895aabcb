import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { everythingIn } from "../../support/written.ts";

const NOT_FOUND = "unkey/data/role_not_found";
const FORBIDDEN = "unkey/authorization/insufficient_permissions";
const INVALID = "unkey/application/invalid_input";

everywhere(
  (run) => {
    const create = async (fields: object = {}): Promise<{ readonly id: string; readonly name: string }> => {
      const name = run.unique("Role Ä");
      const { roleId } = await run.data("permissions.createRole", { name, ...fields });
      return { id: roleId as string, name };
    };
    const get = (role: string) => run.data("permissions.getRole", { role });
    const update = (role: string, fields: object) => run.data("permissions.updateRole", { role, ...fields });
    const remove = (role: string) => run.data("permissions.deleteRole", { role });
    const writesNothing = async (calls: () => Promise<void>): Promise<void> => {
      const before = await everythingIn(run.api.store);
      await calls();
      expect(await everythingIn(run.api.store)).toEqual(before);
    };
    /** A key with the role, assigned by its id-keeping procedure: any name will do. */
    const holder = async (role: string) => {
      const key = await run.createKey();
      await run.data("keys.addRoles", { keyId: key.keyId, roles: [role] });
      return key;
    };

    describe("permissions.getRole", () => {
      test("[permissions §7] a role is found by id, exactly, and by name in any case", async () => {
        const made = await create();
        for (const role of [made.id, made.name, made.name.toUpperCase(), made.name.toLowerCase()]) expect(await get(role)).toEqual(made);
        for (const role of [made.id.toUpperCase(), ` ${made.name}`, made.name.replace("Ä", "A"), made.name.replace("Ä", "A\u0308")])
          expectError(await run.call("permissions.getRole", { role }), 404, NOT_FOUND);
      });

      test("[permissions §1] case is folded in every script, accents are not", async () => {
        const stem = run.unique("ΟΔΟΣ");
        const { roleId } = await run.data("permissions.createRole", { name: `${stem} ΣΑΣ` });
        for (const role of [`${stem.toLowerCase()} σας`, `${stem.toLowerCase()} σασ`, `${stem} ΣΑΣ`])
          expect((await get(role)).id).toBe(roleId);
        expectError(await run.call("permissions.createRole", { name: `${stem} σασ` }), 409, "role_already_exists");
        expectError(await run.call("permissions.getRole", { role: `${stem} ΣΆΣ` }), 404, NOT_FOUND);
        expect(await run.data("permissions.listRoles", { search: `${stem} σα` })).toHaveLength(1);
        expect(await run.data("permissions.listRoles", { search: `${stem} ςασ` })).toHaveLength(1);
      });

      test("[permissions §1] when one string is an id and another's name, the id wins everywhere", async () => {
        const owner = await create();
        const { roleId: impostor } = await run.data("permissions.createRole", { name: owner.id });
        expect(await get(owner.id)).toEqual(owner);
        expect(await update(owner.id, { description: "d" })).toMatchObject({ id: owner.id });
        const permissions = [run.unique("p")];
        await run.data("permissions.setRolePermissions", { role: owner.id, permissions });
        expect(await get(impostor as string)).toEqual({ id: impostor, name: owner.id });
        await remove(owner.id);
        expect(await get(owner.id)).toEqual({ id: impostor, name: owner.id });
      });

      test.each(["getRole", "updateRole", "deleteRole", "setRolePermissions"])(
        "[permissions §7] %s: an unknown role of any characters is 404, one out of bounds 400",
        async (name) => {
          const fields = name === "setRolePermissions" ? { permissions: [] } : {};
          for (const role of ["nothing", " ", "%", "*", "😀".repeat(128), "a\u0000", "\n", '"', "$ne", "__proto__"])
            expectError(await run.call(`permissions.${name}`, { role, ...fields }), 404, NOT_FOUND);
          for (const role of ["", "r".repeat(129), "😀".repeat(129)]) {
            const error = expectError(await run.call(`permissions.${name}`, { role, ...fields }), 400, INVALID);
            expect(error.errors?.[0]?.location).toBe("body.role");
          }
        },
      );

      test.each([
        ["getRole", ["rbac.*.read_role"], {}],
        ["updateRole", ["rbac.*.update_role"], { name: "never" }],
        ["deleteRole", ["rbac.*.delete_role"], {}],
        ["setRolePermissions", ["rbac.*.add_permission_to_role", "rbac.*.remove_permission_from_role"], { permissions: [] }],
      ])("[permissions §1] %s without %s is the same 403 for known and unknown roles", async (procedure, needed, fields) => {
        const { name } = await create();
        const all = ["create_role", "read_role", "update_role", "delete_role", "add_permission_to_role", "remove_permission_from_role"];
        await writesNothing(async () => {
          for (const missing of needed) {
            const caller = await run.api.createRootKey({
              permissions: all.map((each) => `rbac.*.${each}`).filter((each) => each !== missing),
            });
            const details = [];
            for (const role of [name, "nothing"])
              details.push(expectError(await run.call(`permissions.${procedure}`, { role, ...fields }, caller), 403, FORBIDDEN).detail);
            expect(details[0]).toContain(missing);
            expect(details[0]).toBe(details[1]);
          }
        });
        const body = { role: name, ...fields, ...("name" in fields ? { name: run.unique("ok") } : {}) };
        await run.data(`permissions.${procedure}`, body, await run.api.createRootKey({ permissions: needed }));
      });
    });

    describe("permissions.updateRole", () => {
      test("[permissions §10a] omitted fields are kept; the answer is id, name and description", async () => {
        const slug = run.unique("p");
        const { id, name } = await create({ description: "first", permissions: [slug] });
        expect(await update(name, { description: "second" })).toEqual({ id, name, description: "second" });
        const renamed = run.unique("Renamed 役割");
        expect(await update(id, { name: renamed })).toEqual({ id, name: renamed, description: "second" });
        expect(await get(renamed)).toMatchObject({ id, name: renamed, description: "second", permissions: [{ slug }] });
        for (const description of [null, ""]) {
          await update(id, { description: "again" });
          expect(await update(id, { description })).toEqual({ id, name: renamed });
        }
        expect(await get(id)).not.toHaveProperty("description");
        expectError(await run.call("permissions.getRole", { role: name }), 404, NOT_FOUND);
      });

      test("[permissions §10a] no field, or only values equal to the stored ones: the object as stored, and no write", async () => {
        const { id, name } = await create({ description: "same" });
        await writesNothing(async () => {
          for (const fields of [{}, { name }, { description: "same" }, { name, description: "same" }])
            expect(await update(id, fields)).toEqual({ id, name, description: "same" });
        });
      });

      test("[permissions §10a] keys keep it under its new name, in verification at once", async () => {
        const slug = run.unique("p");
        const { id, name } = await create({ permissions: [slug] });
        const { key, keyId } = await holder(name);
        expect(await run.verify(key, { permissions: slug })).toMatchObject({ valid: true, roles: [name] });
        const renamed = run.unique("renamed");
        await update(id, { name: renamed });
        expect(await run.verify(key, { permissions: slug })).toMatchObject({ valid: true, roles: [renamed] });
        expect(await run.getKey(keyId)).toMatchObject({ roles: [renamed] });
        expectError(await run.call("keys.addRoles", { keyId, roles: [name] }), 404, NOT_FOUND);
        // The old name is free for another role.
        expect((await run.data("permissions.createRole", { name })).roleId).not.toBe(id);
        expect(await run.verify(key)).toMatchObject({ roles: [renamed] });
      });

      test("[permissions §10a] a name that another one has in any case is 409; the case of its own may change", async () => {
        const [taken, mine] = [await create(), await create()];
        await writesNothing(async () => {
          for (const name of [taken.name, taken.name.toUpperCase()]) {
            const answer = await run.call("permissions.updateRole", { role: mine.id, name, description: "lost" });
            expect(expectError(answer, 409, "unkey/data/role_already_exists").detail).toContain(name);
          }
        });
        expect(await update(mine.name, { name: mine.name.toUpperCase() })).toEqual({ id: mine.id, name: mine.name.toUpperCase() });
      });

      test.each([
        ["name", ["", "n".repeat(129)]],
        ["description", ["d".repeat(513)]],
      ])("[permissions §10a] a %s outside its bounds is 400 and changes nothing", async (field, values) => {
        const { id } = await create();
        await writesNothing(async () => {
          for (const value of values) {
            const error = expectError(await run.call("permissions.updateRole", { role: id, [field]: value }), 400, INVALID);
            expect(error.errors?.[0]?.location).toBe(`body.${field}`);
          }
        });
      });
    });

    describe("permissions.deleteRole", () => {
      test("[permissions §9] every key loses it and what only it granted; the permissions stay; a second delete is 404", async () => {
        const [only, both] = [run.unique("only"), run.unique("both")];
        const { id, name } = await create({ permissions: [only, both] });
        const { key, keyId } = await holder(name);
        await run.data("keys.addPermissions", { keyId, permissions: [both] });
        expect(await run.verify(key, { permissions: `${only} AND ${both}` })).toMatchObject({ valid: true });
        expect(await remove(name.toLowerCase())).toEqual({});
        expect(await run.verify(key, { permissions: only })).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS" });
        const verified = await run.verify(key, { permissions: both });
        expect(verified).toMatchObject({ valid: true, permissions: [both] });
        for (const shown of [verified, await run.getKey(keyId)]) expect(shown).not.toHaveProperty("roles");
        for (const slug of [only, both]) expect(await run.data("permissions.getPermission", { permission: slug })).toMatchObject({ slug });
        for (const role of [id, name]) expectError(await run.call("permissions.deleteRole", { role }), 404, NOT_FOUND);
        expect(await run.data("permissions.listRoles", { search: name })).toEqual([]);
      });

      test("[permissions §9] a new role of the same name is a different role: keys do not get it back", async () => {
        const slug = run.unique("p");
        const { id, name } = await create({ permissions: [slug] });
        const { key } = await holder(name);
        await remove(id);
        expect((await run.data("permissions.createRole", { name, permissions: [slug] })).roleId).not.toBe(id);
        const verified = await run.verify(key);
        for (const gone of ["roles", "permissions"]) expect(verified).not.toHaveProperty(gone);
      });
    });
  },
  ["v2", "grpc"],
);
