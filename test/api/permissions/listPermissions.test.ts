import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly slug?: string;
}

/** The two lists of this namespace, which share their rules. */
const lists = [
  { procedure: "permissions.listPermissions", one: "Permission", permission: "rbac.*.read_permission" },
  { procedure: "permissions.listRoles", one: "Role", permission: "rbac.*.read_role" },
] as const;

everywhere(
  (run) => {
    describe.each(lists)("$procedure", ({ procedure, one, permission }) => {
      const create = async (name: string, fields: object = {}): Promise<string> => {
        const slug = one === "Permission" ? { slug: run.unique("listed.slug") } : {};
        const data = await run.data(`permissions.create${one}`, { name, ...slug, ...fields });
        return (data.permissionId ?? data.roleId) as string;
      };
      const page = async (body: object) => {
        const answer = await run.call(procedure, body);
        expect(answer.status, JSON.stringify(answer.body.error)).toBe(200);
        return { items: answer.body.data as Listed[], pagination: answer.body.pagination };
      };
      const found = async (search: string): Promise<string[]> => (await page({ search })).items.map(({ name }) => name).sort();
      const remove = (id: string) => run.data(`permissions.delete${one}`, { [one.toLowerCase()]: id });

      test("[permissions §1] items are whole objects, ascending by id; a list that ends has hasMore false and no cursor", async () => {
        const stem = run.unique("whole");
        const fields = one === "Role" ? { permissions: [`${stem}.b`, `${stem}.a`] } : {};
        for (const i of [1, 2, 3]) await create(`${stem} ${i}`, i === 2 ? { ...fields, description: "two" } : fields);
        const { items, pagination } = await page({ search: `${stem} ` });
        expect(pagination).toEqual({ hasMore: false });
        expect(items).toHaveLength(3);
        expect(items.map(({ id }) => id)).toEqual(items.map(({ id }) => id).sort());
        for (const item of items) expect(await run.data(`permissions.get${one}`, { [one.toLowerCase()]: item.id })).toEqual(item);
        if (one === "Role") expect(items[0]).toMatchObject({ permissions: [{ slug: `${stem}.a` }, { slug: `${stem}.b` }] });
      });

      test("[permissions §1] search is a literal substring of id, name and description, regardless of case", async () => {
        const stem = run.unique("Find");
        const id = await create(`${stem} one`, { description: `${stem} says Ä 100%_x` });
        await create(`${stem}%two`);
        for (const search of [id, id.toUpperCase(), `${stem} ONE`, `${stem} SAYS ä`, "ä 100%_X", `  ${stem} o\n`])
          expect(await found(search)).toContain(`${stem} one`);
        expect(await found(`${stem}%`)).toEqual([`${stem}%two`]);
        expect(await found(stem)).toEqual([`${stem} one`, `${stem}%two`].sort());
        for (const wild of ["*", ".*", "_", "\\", "\\ ", ".", "?", "[ %]", "(", "|", "^", "$", "+", "'", '"', "\u0000"])
          expect(await found(`${stem}${wild}`), wild).toEqual([]);
        for (const [tail, head] of [
          [id.slice(-4), stem.slice(0, 4)],
          ["one", stem.slice(0, 4)],
        ])
          for (const seam of ["\n", "", " ", "X", "x", "\u0000"]) expect(await found(`${tail}${seam}${head}`)).toEqual([]);
      });

      test("[permissions §1] texts that look like patterns, hold line breaks or U+0000 are found by what they are", async () => {
        const stem = run.unique("odd");
        for (const odd of ["%", "_", "\\", "*", ".", "a\nb", "a\u0000b", "(", "[", "'", '"', "😀", "ΟΔΟΣ"]) {
          const name = `${stem}${odd}${stem}`;
          await create(name);
          expect(await found(`${odd}${stem}`)).toEqual([name]);
          expect(await found(`${stem}${odd.toLowerCase()}`.toUpperCase())).toEqual([name]);
        }
      });

      test("[permissions §1] search is trimmed, at most 256 characters before that; blank is no filter", async () => {
        await create(run.unique("any"));
        const { items } = await page({ limit: 2 });
        for (const search of ["", "  ", "\n\t", " ".repeat(256)]) expect((await page({ limit: 2, search })).items).toEqual(items);
        expectError(await run.call(procedure, { search: "s".repeat(257) }), 400, "invalid_input");
        expectError(await run.call(procedure, { search: " ".repeat(257) }), 400, "invalid_input");
        expectError(await run.call(procedure, { cursor: "c".repeat(1025) }), 400, "invalid_input");
        for (const limit of [0, -1, 101]) expectError(await run.call(procedure, { limit }), 400, "invalid_input");
      });

      test("[permissions §1] search follows a change of name and description, and forgets what was deleted", async () => {
        const [old, renamed, described] = [run.unique("old"), run.unique("new"), run.unique("described")];
        const id = await create(old);
        const update = { [one.toLowerCase()]: id, name: renamed, description: described };
        await run.data(`permissions.update${one}`, update);
        expect(await found(old)).toEqual([]);
        for (const search of [renamed, described, id]) expect(await found(search)).toEqual([renamed]);
        await run.data(`permissions.update${one}`, { [one.toLowerCase()]: id, description: null });
        expect(await found(described)).toEqual([]);
        await remove(id);
        for (const search of [renamed, id]) expect(await found(search)).toEqual([]);
      });

      test.each([1, 2, 3, 4, 5])("[permissions §1] pages of %i hold all once; an exactly full last page ends the list", async (limit) => {
        const stem = run.unique("paged");
        for (let i = 0; i < 4; i++) await create(`${stem} ${i}`);
        const all = (await page({ search: stem })).items;
        const seen: Listed[] = [];
        for (let cursor: string | undefined = ""; cursor !== undefined; ) {
          const { items, pagination } = await page({ search: stem, limit, cursor });
          expect(items.length).toBeGreaterThan(0);
          seen.push(...items);
          expect(pagination).toEqual(seen.length < 4 ? { hasMore: true, cursor: expect.any(String) } : { hasMore: false });
          cursor = pagination?.cursor;
        }
        expect(seen).toEqual(all);
      });

      test("[permissions §1] deleting the row of a cursor skips and repeats nothing; an unknown cursor is a position", async () => {
        const stem = run.unique("cursor");
        const ids = [];
        for (let i = 0; i < 4; i++) ids.push(await create(`${stem} ${i}`));
        ids.sort();
        const { pagination } = await page({ search: stem, limit: 2 });
        const cursor = pagination?.cursor;
        await remove(ids[2] ?? "");
        expect((await page({ search: stem, cursor })).items.map(({ id }) => id)).toEqual([ids[3]]);
        expect((await page({ search: stem, cursor, limit: 1 })).pagination).toEqual({ hasMore: false });
        expect((await page({ search: stem, cursor: "0" })).items).toHaveLength(3);
        expect((await page({ search: stem, cursor: "zzz" })).items).toEqual([]);
        for (const odd of ["%", "\u0000", "😀", "x".repeat(1024), '{"$gt":""}', " "])
          expect([200, 400]).toContain((await run.call(procedure, { cursor: odd, limit: 1 })).status);
      });

      test(`[permissions §4] without ${permission} it is 403, which names it`, async () => {
        const others = lists.map((each) => each.permission).filter((each) => each !== permission);
        const caller = await run.api.createRootKey({ permissions: [...others, "rbac.*.create_role"] });
        for (const body of [{}, { search: "nothing has this" }])
          expect(expectError(await run.call(procedure, body, caller), 403, "insufficient_permissions").detail).toContain(permission);
        await run.data(procedure, {}, await run.api.createRootKey({ permissions: [permission] }));
      });
    });

    test("[permissions §1] permissions are searched by slug, too; roles not by their permissions", async () => {
      const slug = run.unique("By.Slug");
      const role = run.unique("role");
      await run.data("permissions.createRole", { name: role, permissions: [slug] });
      expect(await run.data("permissions.listPermissions", { search: slug.toUpperCase() })).toMatchObject([{ slug }]);
      expect(await run.data("permissions.listRoles", { search: slug })).toEqual([]);
    });

    test("[permissions §1] root-key permissions are never listed", async () => {
      const granted = run.unique("lookalike").replaceAll("-", "_");
      await run.api.createRootKey({ permissions: [`api.${granted}.read_api`, "rbac.*.create_role"] });
      expect(await run.data("permissions.listPermissions", { search: granted })).toEqual([]);
      expectError(await run.call("permissions.getPermission", { permission: `api.${granted}.read_api` }), 404, "permission_not_found");
    });
  },
  ["v2", "grpc"],
);

const malformed: readonly (readonly [procedure: string, body: object, location: string])[] = [
  ["getPermission", {}, "body.permission"],
  ["getPermission", { permission: null }, "body.permission"],
  ["getPermission", { permission: ["a"] }, "body.permission"],
  ["getPermission", { permission: "a", extra: 1 }, "body.extra"],
  ["getPermission", { permissionId: "a" }, "body.permissionId"],
  ["listPermissions", { limit: "1" }, "body.limit"],
  ["listPermissions", { limit: 1.5 }, "body.limit"],
  ["listPermissions", { cursor: null }, "body.cursor"],
  ["listPermissions", { cursor: "x".repeat(1025) }, "body.cursor"],
  ["listRoles", { cursor: "x".repeat(1025) }, "body.cursor"],
  ["listPermissions", { search: null }, "body.search"],
  ["listPermissions", { extra: 1 }, "body.extra"],
  ["updatePermission", { name: "x" }, "body.permission"],
  ["updatePermission", { permission: "a", name: null }, "body.name"],
  ["updatePermission", { permission: "a", slug: null }, "body.slug"],
  ["updatePermission", { permission: "a", description: 1 }, "body.description"],
  ["updatePermission", { permission: "a", id: "x" }, "body.id"],
  ["deletePermission", {}, "body.permission"],
  ["deletePermission", { permission: "a", extra: 1 }, "body.extra"],
  ["createRole", { name: "a", permissions: Array.from({ length: 1001 }, (_, i) => `p${i}`) }, "body.permissions"],
  ["getRole", {}, "body.role"],
  ["getRole", { role: null }, "body.role"],
  ["getRole", { roleId: "role_x" }, "body.roleId"],
  ["listRoles", { limit: null }, "body.limit"],
  ["listRoles", { search: 1 }, "body.search"],
  ["updateRole", { name: "x" }, "body.role"],
  ["updateRole", { role: "a", name: null }, "body.name"],
  ["updateRole", { role: "a", permissions: [] }, "body.permissions"],
  ["deleteRole", { role: "a", extra: 1 }, "body.extra"],
  ["setRolePermissions", { role: "a" }, "body.permissions"],
  ["setRolePermissions", { role: "a", permissions: null }, "body.permissions"],
  ["setRolePermissions", { role: "a", permissions: "a" }, "body.permissions"],
  ["setRolePermissions", { role: "a", permissions: ["ok", ""] }, "body.permissions[1]"],
  ["setRolePermissions", { role: "a", permissions: ["a b"] }, "body.permissions[0]"],
  ["setRolePermissions", { role: "a", permissions: [null] }, "body.permissions[0]"],
  ["setRolePermissions", { role: "a", permissions: Array.from({ length: 1001 }, (_, i) => `p${i}`) }, "body.permissions"],
  ["setRolePermissions", { roleId: "ab", permissions: [] }, "body.roleId"],
  ["setRolePermissions", { roleId: "a b c", permissions: [] }, "body.roleId"],
  ["setRolePermissions", { role: "a", permissions: [], extra: 1 }, "body.extra"],
  ["setRolePermissions", { permissions: [] }, "body.role"],
  ["setRolePermissions", { role: "abc", roleId: "abc", permissions: [] }, "body.role"],
];

everywhere(
  (run) => {
    test.each(malformed)(
      "[permissions §1] %s: a malformed request (row %$) is 400, also without permissions",
      async (name, body, location) => {
        for (const rootKey of [run.api.rootKey, await run.api.createRootKey({ permissions: ["api.*.read_api"] })]) {
          const error = expectError(await run.call(`permissions.${name}`, body, rootKey), 400, "unkey/application/invalid_input");
          expect(error.errors?.map((entry) => entry.location)).toContain(location);
        }
      },
    );
  },
  ["v2"],
);
