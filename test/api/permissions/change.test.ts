import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

const NOT_FOUND = "unkey/data/permission_not_found";
const FORBIDDEN = "unkey/authorization/insufficient_permissions";
const INVALID = "unkey/application/invalid_input";

everywhere(
  (run) => {
    const create = async (fields: object = {}): Promise<{ readonly id: string; readonly slug: string; readonly name: string }> => {
      const slug = run.unique("Docs.Read");
      const { permissionId } = await run.data("permissions.createPermission", { name: "Read", slug, ...fields });
      return { id: permissionId as string, name: "Read", slug };
    };
    const get = (permission: string) => run.data("permissions.getPermission", { permission });
    const update = (permission: string, fields: object, rootKey?: string) =>
      run.data("permissions.updatePermission", { permission, ...fields }, rootKey);
    const remove = (permission: string) => run.data("permissions.deletePermission", { permission });
    const writesNothing = async (calls: () => Promise<void>): Promise<void> => {
      const before = await everythingIn(run.api.store);
      await calls();
      expect(await everythingIn(run.api.store)).toEqual(before);
    };
    /** A key that holds the permission directly, one through a role, and one that asks for it. */
    const holders = async (slug: string) => {
      const role = run.unique("role");
      await run.data("permissions.createRole", { name: role, permissions: [slug] });
      const [direct, through] = [await run.createKey({ permissions: [slug] }), await run.createKey({ roles: [role] })];
      const codes = async (query: string): Promise<unknown[]> =>
        Promise.all([direct, through].map(async ({ key }) => (await run.verify(key, { permissions: query })).code));
      return { role, direct, through, codes };
    };

    describe("addressing", () => {
      test("[permissions §1] a permission is found by id, exactly, and by slug in any case; never by display name", async () => {
        const made = await create({ name: "Display" });
        const shown = { ...made, name: "Display" };
        for (const permission of [made.id, made.slug, made.slug.toUpperCase(), made.slug.toLowerCase()])
          expect(await get(permission)).toEqual(shown);
        for (const permission of ["Display", made.id.toUpperCase(), made.id.toLowerCase(), made.slug.slice(1)]) {
          for (const procedure of ["getPermission", "updatePermission", "deletePermission"])
            expectError(await run.call(`permissions.${procedure}`, { permission }), 404, NOT_FOUND);
        }
      });

      test("[permissions §1] when one string is an id and another's slug, the id wins everywhere", async () => {
        const owner = await create();
        const impostor = await create({ slug: owner.id });
        expect(await get(owner.id)).toMatchObject({ id: owner.id });
        expect(await update(owner.id, { description: "d" })).toMatchObject({ id: owner.id, description: "d" });
        expect(await get(impostor.id)).not.toHaveProperty("description");
        await remove(owner.id);
        expect(await get(owner.id)).toMatchObject({ id: impostor.id });
      });

      test.each(["getPermission", "updatePermission", "deletePermission"])(
        "[permissions §3] %s: what no permission has is 404, what none can have 400",
        async (name) => {
          for (const permission of ["nothing.such", "nothing.*", "p".repeat(128), "perm_x"])
            expectError(await run.call(`permissions.${name}`, { permission }), 404, NOT_FOUND);
          for (const permission of ["", "%", "a b", "a\n", "p".repeat(129), "ä", "a\u0000", "😀"]) {
            const error = expectError(await run.call(`permissions.${name}`, { permission }), 400, INVALID);
            expect(error.errors?.[0]?.location).toBe("body.permission");
          }
        },
      );

      test.each([
        ["getPermission", "rbac.*.read_permission", {}],
        ["updatePermission", "rbac.*.update_permission", { name: "New" }],
        ["deletePermission", "rbac.*.delete_permission", {}],
      ])("[permissions §1] %s without %s is the same 403 for known and unknown permissions", async (name, needed, fields) => {
        const { slug } = await create();
        const all = ["create", "read", "update", "delete"].map((verb) => `rbac.*.${verb}_permission`);
        const caller = await run.api.createRootKey({ permissions: all.filter((each) => each !== needed) });
        await writesNothing(async () => {
          const details = [];
          for (const permission of [slug, "nothing.such"])
            details.push(expectError(await run.call(`permissions.${name}`, { permission, ...fields }, caller), 403, FORBIDDEN).detail);
          expect(details[0]).toContain(needed);
          expect(details[0]).toBe(details[1]);
          expectError(await run.call(`permissions.${name}`, { permission: "", ...fields }, caller), 400, INVALID);
        });
        await run.data(`permissions.${name}`, { permission: slug, ...fields }, await run.api.createRootKey({ permissions: [needed] }));
      });
    });

    describe("permissions.updatePermission", () => {
      test("[permissions §10a] omitted fields are kept, and the answer is the whole permission", async () => {
        const { id, slug } = await create({ description: "May read." });
        expect(await update(slug, { name: "Lesen" })).toEqual({ id, name: "Lesen", slug, description: "May read." });
        expect(await update(id, { description: "Darf lesen." })).toEqual({ id, name: "Lesen", slug, description: "Darf lesen." });
        const renamed = run.unique("docs.lesen");
        expect(await update(slug.toUpperCase(), { slug: renamed })).toEqual({
          id,
          name: "Lesen",
          slug: renamed,
          description: "Darf lesen.",
        });
        expect(await get(renamed)).toEqual({ id, name: "Lesen", slug: renamed, description: "Darf lesen." });
      });

      test.each([null, ""])("[permissions §10a] a description of %j removes it", async (description) => {
        const made = await create({ description: "May read." });
        expect(await update(made.id, { description })).toEqual(made);
        expect(await get(made.id)).toEqual(made);
        expect(await run.data("permissions.listPermissions", { search: `${made.slug}` })).toEqual([made]);
      });

      test("[permissions §10a] no field, or only values equal to the stored ones: the object as stored, no write, no event", async () => {
        const { id, slug, name } = await create({ description: "same" });
        await writesNothing(async () => {
          for (const fields of [{}, { name }, { slug }, { description: "same" }, { name, slug, description: "same" }])
            expect(await update(slug, fields)).toEqual({ id, name, slug, description: "same" });
        });
        const bare = await create();
        await writesNothing(async () => {
          for (const description of [null, ""]) expect(await update(bare.id, { description })).toEqual(bare);
        });
      });

      test("[permissions §10a] keys and roles keep it under its new slug, in verification at once", async () => {
        const { id, slug } = await create();
        const { direct, role, codes } = await holders(slug);
        expect(await codes(slug)).toEqual(["VALID", "VALID"]);
        const renamed = run.unique("docs.other");
        await update(id, { slug: renamed });
        expect(await codes(slug)).toEqual(["INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PERMISSIONS"]);
        expect(await codes(renamed)).toEqual(["VALID", "VALID"]);
        expect(await run.verify(direct.key)).toMatchObject({ permissions: [renamed] });
        expect(await run.getKey(direct.keyId)).toMatchObject({ permissions: [renamed] });
        expect(await run.data("permissions.getRole", { role })).toMatchObject({ permissions: [{ id, slug: renamed }] });
        expectError(await run.call("permissions.getPermission", { permission: slug }), 404, NOT_FOUND);
        // The old slug is free: a permission that takes it is another one.
        const { id: other } = await create({ slug });
        expect(other).not.toBe(id);
        expect(await codes(slug)).toEqual(["INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PERMISSIONS"]);
      });

      test("[permissions §10a] a slug that another one has in any case is 409; the case of its own may change", async () => {
        const [taken, mine] = [await create(), await create()];
        await writesNothing(async () => {
          for (const slug of [taken.slug, taken.slug.toUpperCase()]) {
            const answer = await run.call("permissions.updatePermission", { permission: mine.id, slug, name: "Lost" });
            expect(expectError(answer, 409, "unkey/data/permission_already_exists").detail).toContain(slug);
          }
        });
        const { codes } = await holders(mine.slug);
        expect(await update(mine.slug, { slug: mine.slug.toUpperCase() })).toEqual({ ...mine, slug: mine.slug.toUpperCase() });
        // Verification compares slugs exactly.
        expect(await codes(mine.slug)).toEqual(["INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PERMISSIONS"]);
        expect(await codes(mine.slug.toUpperCase())).toEqual(["VALID", "VALID"]);
      });

      test.each([
        ["name", ["", "n".repeat(513)]],
        ["slug", ["", "s".repeat(129), "a b", "a\n"]],
        ["description", ["d".repeat(513)]],
      ])("[permissions §10a] a %s outside its bounds is 400 and changes nothing", async (field, values) => {
        const { id } = await create();
        await writesNothing(async () => {
          for (const value of values) {
            const body = { permission: id, ...(field === "name" ? {} : { name: "New" }), [field]: value };
            const error = expectError(await run.call("permissions.updatePermission", body), 400, INVALID);
            expect(error.errors?.[0]?.location).toBe(`body.${field}`);
          }
        });
      });
    });

    describe("permissions.deletePermission", () => {
      test("[permissions §5] gone at once from every role, every key and as a row; a second delete is 404", async () => {
        const { slug, id } = await create();
        const { direct, through, role, codes } = await holders(slug);
        expect(await codes(slug)).toEqual(["VALID", "VALID"]);
        expect(await remove(slug.toUpperCase())).toEqual({});
        expect(await codes(slug)).toEqual(["INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PERMISSIONS"]);
        for (const { keyId, key } of [direct, through]) {
          expect(await run.getKey(keyId)).not.toHaveProperty("permissions");
          expect(await run.verify(key)).not.toHaveProperty("permissions");
        }
        expect(await run.data("permissions.getRole", { role })).not.toHaveProperty("permissions");
        for (const permission of [slug, id]) expectError(await run.call("permissions.deletePermission", { permission }), 404, NOT_FOUND);
        expect(await run.data("permissions.listPermissions", { search: slug })).toEqual([]);
      });

      test("[permissions §5] the same slug again is a new id and restores no assignment", async () => {
        const { slug, id } = await create();
        const { role, direct, codes } = await holders(slug);
        await remove(id);
        const again = await create({ slug });
        expect(again.id).not.toBe(id);
        expect(await codes(slug)).toEqual(["INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PERMISSIONS"]);
        expect(await run.data("permissions.getRole", { role })).not.toHaveProperty("permissions");
        expect(await run.data("keys.addPermissions", { keyId: direct.keyId, permissions: [slug] })).toMatchObject([{ id: again.id }]);
        expect(await codes(slug)).toEqual(["VALID", "INSUFFICIENT_PERMISSIONS"]);
      });
    });

    test("[permissions §10a] racing renames and creates of one slug, in any case: one is 200, the others 409", async () => {
      const wanted = run.unique("Wanted");
      const made = await Promise.all(Array.from({ length: 8 }, () => create()));
      const nodes = [run.api, await run.other()];
      const answers = await Promise.all(
        made.flatMap(({ id }, i) => {
          const slug = i % 2 ? wanted : wanted.toLowerCase();
          return [
            run.call("permissions.updatePermission", { permission: id, slug }, undefined, nodes[i % 2]),
            run.call("permissions.createPermission", { name: "new", slug: slug.toUpperCase() }, undefined, nodes[i % 2]),
          ];
        }),
      );
      const lost = answers.filter(({ status }) => status !== 200);
      expect(lost).toHaveLength(answers.length - 1);
      for (const answer of lost) expectError(answer, 409, "unkey/data/permission_already_exists");
      expect(await run.data("permissions.listPermissions", { search: wanted })).toHaveLength(1);
    });

    test("[permissions §12] update and delete have one event each, for any holder of the permission; refused calls have none", async () => {
      const name = run.unique("actor");
      const rootKey = await run.api.createRootKey({ name });
      const { id, slug } = await create();
      await holders(slug);
      const renamed = run.unique("renamed");
      await update(id, { slug: renamed, name: "New", description: "new" }, rootKey);
      await update(id, { slug: renamed }, rootKey);
      await run.call("permissions.updatePermission", { permission: slug, name: "x" }, rootKey);
      await run.call("permissions.updatePermission", { permission: id, slug: (await create()).slug }, rootKey);
      await run.data("permissions.getPermission", { permission: id }, rootKey);
      await run.data("permissions.deletePermission", { permission: id }, rootKey);
      await run.call("permissions.deletePermission", { permission: id }, rootKey);
      const events = (await eventsBy(run.api.store, name)).map(({ event, resources }) => ({ event, resources }));
      const resources = [{ type: "permission", id, name: renamed }];
      expect(events).toEqual([
        { event: "permission.update", resources },
        { event: "permission.delete", resources },
      ]);
    });
  },
  ["v2", "grpc"],
);
