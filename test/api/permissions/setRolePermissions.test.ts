import { describe, expect, test } from "vitest";
import { type Api, expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { sized } from "../../support/sized.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

const FORBIDDEN = "unkey/authorization/insufficient_permissions";
const CALLERS = sized(4, 12);

everywhere(
  (run) => {
    const create = async (...permissions: string[]): Promise<string> => {
      const name = run.unique("role");
      await run.data("permissions.createRole", { name, permissions });
      return name;
    };
    const set = async (role: string, permissions: readonly string[], rootKey?: string, node?: Api): Promise<string[]> => {
      const shown = await run.data("permissions.setRolePermissions", { role, permissions }, rootKey, node);
      return (shown as unknown as { slug: string }[]).map(({ slug }) => slug);
    };
    const slugsOf = async (role: string): Promise<string[]> => {
      const { permissions = [] } = (await run.data("permissions.getRole", { role })) as { permissions?: { slug: string }[] };
      return permissions.map(({ slug }) => slug);
    };
    const slugs = (count: number): string[] => {
      const stem = run.unique("set");
      return Array.from({ length: count }, (_, i) => `${stem}.${String(i).padStart(4, "0")}`);
    };
    const actor = async (permissions?: string[]): Promise<{ rootKey: string; events: () => Promise<string[]> }> => {
      const name = run.unique("actor");
      const rootKey = await run.api.createRootKey({ name, ...(permissions ? { permissions } : {}) });
      const events = async (): Promise<string[]> =>
        (await eventsBy(run.api.store, name))
          .map(({ event, resources }) => [event, ...resources.map((each) => `${each.type}:${each.name ?? "-"}`)].join(" "))
          .sort();
      return { rootKey, events };
    };

    test("[permissions §10] the whole set is replaced; the answer is the complete new set, by slug", async () => {
      const [a, b, c, d] = slugs(4) as [string, string, string, string];
      const role = await create(a, b);
      expect(await set(role, [d, b, c])).toEqual([b, c, d]);
      expect(await slugsOf(role)).toEqual([b, c, d]);
      const shown = (await run.data("permissions.setRolePermissions", { role, permissions: [c] })) as unknown;
      expect(shown).toEqual([{ id: expect.stringMatching(/^perm_/), name: c, slug: c }]);
      expect(await set(role, [])).toEqual([]);
      expect(await run.data("permissions.getRole", { role })).not.toHaveProperty("permissions");
    });

    test("[permissions §10] role or roleId, each an id or a name", async () => {
      const role = await create();
      const { id } = await run.data("permissions.getRole", { role });
      const permissions = slugs(1);
      for (const body of [{ role: id }, { role }, { role: role.toUpperCase() }, { roleId: id }, { roleId: role }]) {
        await set(role, []);
        await run.data("permissions.setRolePermissions", { ...body, permissions });
        expect(await slugsOf(role)).toEqual(permissions);
      }
    });

    test("[permissions §1] items are ids or slugs in any case, repeated ones collapse, missing ones are made", async () => {
      const [known, fresh] = slugs(2) as [string, string];
      const { permissionId } = await run.data("permissions.createPermission", { name: "Known", slug: known });
      const role = await create();
      expect(await set(role, [fresh, known.toUpperCase(), permissionId as string, fresh.toUpperCase(), known])).toEqual([known, fresh]);
      expect(await run.data("permissions.getPermission", { permission: fresh })).toEqual({
        id: expect.any(String),
        name: fresh,
        slug: fresh,
      });
      const { permissionId: impostor } = await run.data("permissions.createPermission", { name: "Impostor", slug: permissionId });
      expect(await set(role, [permissionId as string])).toEqual([known]);
      expect(await set(role, [impostor as string])).toEqual([permissionId]);
    });

    test("[permissions §10] in verification at once, for every key with the role", async () => {
      const [a, b] = slugs(2) as [string, string];
      const role = await create(a);
      const keys = [await run.createKey({ roles: [role] }), await run.createKey({ roles: [role] })];
      const codes = (query: string) => Promise.all(keys.map(async ({ key }) => (await run.verify(key, { permissions: query })).code));
      expect(await codes(a)).toEqual(["VALID", "VALID"]);
      await set(role, [b]);
      expect(await codes(a)).toEqual(["INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PERMISSIONS"]);
      expect(await codes(b)).toEqual(["VALID", "VALID"]);
      await set(role, []);
      expect(await codes(b)).toEqual(["INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PERMISSIONS"]);
    });

    test("[permissions §10] 1000 items are taken", async () => {
      const [role, thousand] = [await create(), slugs(1000)];
      expect(await set(role, [...thousand].reverse())).toEqual(thousand);
      expect(await set(role, thousand.slice(1))).toEqual(thousand.slice(1));
    });

    test("[permissions §10] both root-key permissions are asked for, create_permission only when an item is missing", async () => {
      const [known, fresh] = slugs(2) as [string, string];
      const role = await create(known);
      const [add, remove, make] = ["add_permission_to_role", "remove_permission_from_role", "create_permission"].map(
        (each) => `rbac.*.${each}`,
      ) as [string, string, string];
      const before = await everythingIn(run.api.store);
      for (const [held, permissions, missing] of [
        [[], [], [add, remove]],
        [[add, make], [], [remove]],
        [[remove, make], [known], [add]],
        [[add, remove], [known, fresh], [make]],
      ] as const) {
        const { rootKey } = await actor([...held]);
        const { detail } = expectError(await run.call("permissions.setRolePermissions", { role, permissions }, rootKey), 403, FORBIDDEN);
        for (const each of missing) expect(detail).toContain(each);
        for (const each of held) expect(detail).not.toContain(each);
      }
      expectError(await run.call("permissions.setRolePermissions", { role: "nothing", permissions: [fresh] }), 404, "role_not_found");
      expect(await everythingIn(run.api.store)).toEqual(before);
      expect(await set(role, [known], (await actor([add, remove])).rootKey)).toEqual([known]);
      expect(await set(role, [fresh], (await actor([add, remove, make])).rootKey)).toEqual([fresh]);
    });

    describe("events and races", () => {
      test("[permissions §12] only the difference is audited; a repeat writes nothing and audits nothing", async () => {
        const [stays, goes, comes] = slugs(3) as [string, string, string];
        const role = await create(stays, goes);
        const { rootKey, events } = await actor();
        await set(role, [comes, stays], rootKey);
        const expected = [
          `authorization.connect_role_and_permission role:${role} permission:${comes}`,
          `authorization.disconnect_role_and_permissions role:${role} permission:${goes}`,
          `permission.create permission:${comes}`,
        ];
        expect(await events()).toEqual(expected);
        const before = await everythingIn(run.api.store);
        await set(role, [stays, comes], rootKey);
        await set(role, [comes.toUpperCase(), stays, stays], rootKey);
        expect(await everythingIn(run.api.store)).toEqual(before);
      });

      test("[permissions §12] a permission that was deleted is not disconnected once more", async () => {
        const [stays, gone] = slugs(2) as [string, string];
        const role = await create(stays, gone);
        await run.data("permissions.deletePermission", { permission: gone });
        const { rootKey, events } = await actor();
        const before = await everythingIn(run.api.store);
        expect(await set(role, [stays], rootKey)).toEqual([stays]);
        expect(await everythingIn(run.api.store)).toEqual(before);
        await set(role, [], rootKey);
        expect(await events()).toEqual([`authorization.disconnect_role_and_permissions role:${role} permission:${stays}`]);
      });

      test("[permissions §10] concurrent sets end in one submitted set, never a blend, with the events of what happened", async () => {
        const role = await create();
        const lists = Array.from({ length: CALLERS }, () => slugs(2));
        const { rootKey, events } = await actor();
        const nodes = [run.api, await run.other()];
        const answers = await Promise.all(lists.map((list, i) => set(role, list, rootKey, nodes[i % 2])));
        expect(answers).toEqual(lists);
        const final = await slugsOf(role);
        expect(lists).toContainEqual(final);
        const count = async (event: string): Promise<number> => (await events()).filter((each) => each.startsWith(`${event} `)).length;
        expect(await count("authorization.connect_role_and_permission")).toBe(2 * CALLERS);
        expect(await count("authorization.disconnect_role_and_permissions")).toBe(2 * CALLERS - 2);
        expect(await count("permission.create")).toBe(2 * CALLERS);
        for (const event of await events()) expect(event).not.toContain(":-");
      });

      test("[permissions §10a] racing renames to one name: one is 200, the others 409", async () => {
        const wanted = run.unique("Wanted");
        const roles = await Promise.all(Array.from({ length: CALLERS }, () => create()));
        const nodes = [run.api, await run.other()];
        const answers = await Promise.all(
          roles.map((role, i) =>
            run.call("permissions.updateRole", { role, name: i % 3 ? wanted : wanted.toUpperCase() }, undefined, nodes[i % 2]),
          ),
        );
        const lost = answers.filter(({ status }) => status !== 200);
        expect(lost).toHaveLength(CALLERS - 1);
        for (const answer of lost) expectError(answer, 409, "unkey/data/role_already_exists");
      });

      test("[permissions §10a] racing updates of different fields all survive", async () => {
        const role = await create();
        const { id } = await run.data("permissions.getRole", { role });
        const [name, permissions] = [run.unique("renamed"), slugs(2)];
        const nodes = [run.api, await run.other()];
        await Promise.all(
          Array.from({ length: CALLERS }, (_, i) => {
            if (i % 3 === 0) return set(id as string, permissions, undefined, nodes[i % 2]);
            const fields = i % 3 === 1 ? { name } : { description: "new" };
            return run.data("permissions.updateRole", { role: id, ...fields }, undefined, nodes[i % 2]);
          }),
        );
        expect(await run.data("permissions.getRole", { role: id })).toMatchObject({ name, description: "new" });
        expect(await slugsOf(name)).toEqual(permissions);
      });

      test.each(["Role", "Permission"])(
        "[permissions §9] racing deletes of one %s: one is 200, the others 404, one event",
        async (type) => {
          const [slug] = slugs(1) as [string];
          const role = await create(slug);
          const { rootKey, events } = await actor();
          const nodes = [run.api, await run.other()];
          const body = type === "Role" ? { role } : { permission: slug };
          const answers = await Promise.all(
            Array.from({ length: CALLERS }, (_, i) => run.call(`permissions.delete${type}`, body, rootKey, nodes[i % 2])),
          );
          expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: CALLERS - 1 }, () => 404)]);
          expect(await events()).toHaveLength(1);
        },
      );

      test("[permissions §12] updateRole and deleteRole have one event each; calls that change nothing none", async () => {
        const role = await create(...slugs(2));
        await run.createKey({ roles: [role] });
        const { rootKey, events } = await actor();
        const renamed = run.unique("renamed");
        await run.data("permissions.updateRole", { role, name: renamed, description: "d" }, rootKey);
        await run.data("permissions.updateRole", { role: renamed, name: renamed }, rootKey);
        await run.call("permissions.updateRole", { role, description: "gone" }, rootKey);
        await run.data("permissions.getRole", { role: renamed }, rootKey);
        await run.data("permissions.deleteRole", { role: renamed }, rootKey);
        await run.call("permissions.deleteRole", { role: renamed }, rootKey);
        expect(await events()).toEqual([`role.delete role:${renamed}`, `role.update role:${renamed}`]);
      });
    });
  },
  ["v2", "grpc"],
);
