import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

interface Permission {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly description?: string;
}
type Procedure = "addPermissions" | "removePermissions" | "setPermissions";
const all: readonly Procedure[] = ["addPermissions", "removePermissions", "setPermissions"];

everywhere((run) => {
  const change = (procedure: Procedure, keyId: string, permissions: readonly string[], rootKey?: string) =>
    run.data(`keys.${procedure}`, { keyId, permissions }, rootKey) as unknown as Promise<Permission[]>;
  const slugsAfter = async (...args: Parameters<typeof change>) => (await change(...args)).map(({ slug }) => slug);
  const definePermission = async (slug: string, fields: object = {}) =>
    (await run.data("permissions.createPermission", { name: `Name of ${slug}`, slug, ...fields })).permissionId as string;
  const slugs = (count: number): string[] => Array.from({ length: count }, (_, i) => run.unique(`docs.${"abcdefghij"[i]}`));
  const auditor = async () => {
    const name = run.unique("auditor");
    return { name, rootKey: await run.api.createRootKey({ name }) };
  };

  describe("effects", () => {
    test("[permissions §11] addPermissions adds and keeps the rest, removePermissions removes, setPermissions replaces", async () => {
      const [a, b, c, d] = slugs(4) as [string, string, string, string];
      const { keyId } = await run.createKey({ permissions: [b] });
      expect(await slugsAfter("addPermissions", keyId, [c, a])).toEqual([a, b, c]);
      expect(await slugsAfter("removePermissions", keyId, [b])).toEqual([a, c]);
      expect(await slugsAfter("setPermissions", keyId, [d, a])).toEqual([a, d]);
      expect(await slugsAfter("setPermissions", keyId, [])).toEqual([]);
      expect(await run.getKey(keyId)).not.toHaveProperty("permissions");
    });

    test("[permissions §11] the answer is the key's complete list of direct permissions, by slug, never those of its roles", async () => {
      const [a, b, inherited] = slugs(3) as [string, string, string];
      const role = run.unique("role");
      await run.data("permissions.createRole", { name: role, permissions: [inherited, b] });
      const id = await definePermission(a, { description: "Reads a" });
      const { keyId } = await run.createKey({ roles: [role] });
      const expected = [
        { id, name: `Name of ${a}`, slug: a, description: "Reads a" },
        { id: expect.stringMatching(/^perm_[a-zA-Z0-9]+$/), name: b, slug: b },
      ];
      expect(await change("addPermissions", keyId, [b, a])).toEqual(expected);
      expect(await change("setPermissions", keyId, [a, b])).toEqual(expected);
      expect(await change("removePermissions", keyId, [inherited])).toEqual(expected);
      expect((await run.getKey(keyId)).permissions).toEqual([a, b, inherited].sort());
    });

    test("[permissions §11] removePermissions touches direct grants only: a role that grants the slug still grants it", async () => {
      const [slug] = slugs(1) as [string];
      const role = run.unique("role");
      await run.data("permissions.createRole", { name: role, permissions: [slug] });
      const { keyId, key } = await run.createKey({ roles: [role], permissions: [slug] });
      expect(await slugsAfter("removePermissions", keyId, [slug])).toEqual([]);
      expect(await run.verify(key, { permissions: slug })).toMatchObject({ code: "VALID", permissions: [slug], roles: [role] });
      expect(await run.data("permissions.getPermission", { permission: slug })).toMatchObject({ slug });
    });

    test("[permissions §11] each change holds for the next verification", async () => {
      const [a, b] = slugs(2) as [string, string];
      const { keyId, key } = await run.createKey();
      const codes = async () => Promise.all([a, b].map(async (slug) => (await run.verify(key, { permissions: slug })).code));
      expect(await codes()).toEqual(["INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PERMISSIONS"]);
      await change("addPermissions", keyId, [a]);
      expect(await codes()).toEqual(["VALID", "INSUFFICIENT_PERMISSIONS"]);
      await change("setPermissions", keyId, [b]);
      expect(await codes()).toEqual(["INSUFFICIENT_PERMISSIONS", "VALID"]);
      await change("removePermissions", keyId, [b]);
      expect(await codes()).toEqual(["INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PERMISSIONS"]);
    });

    test("[permissions §11] none of them changes updatedAt or anything else of the key", async () => {
      const [a, b] = slugs(2) as [string, string];
      const { keyId } = await run.createKey({ name: "kept", credits: { remaining: 5 }, meta: { a: 1 }, permissions: [a] });
      const { permissions: _before, ...before } = await run.getKey(keyId);
      for (const procedure of ["addPermissions", "setPermissions"] as const) await change(procedure, keyId, [b]);
      await change("addPermissions", keyId, [a]);
      await change("removePermissions", keyId, [b]);
      expect(await run.getKey(keyId)).toEqual({ ...before, permissions: [a] });
    });

    test.each([
      ["disabled", { enabled: false }],
      ["expired", { expires: 0 }],
      ["exhausted", { credits: { remaining: 0 } }],
    ])("[permissions §11] a key that is %s can be changed", async (_, fields) => {
      const [slug] = slugs(1) as [string];
      const { keyId } = await run.createKey(fields);
      for (const procedure of ["addPermissions", "setPermissions"] as const)
        expect(await slugsAfter(procedure, keyId, [slug])).toEqual([slug]);
      expect(await slugsAfter("removePermissions", keyId, [slug])).toEqual([]);
    });
  });

  describe("items", () => {
    test("[permissions §1] a slug in any letter case and an id mean the existing permission; repeated items collapse", async () => {
      const slug = run.unique("Docs.Read");
      const id = await definePermission(slug);
      for (const procedure of ["addPermissions", "setPermissions"] as const) {
        for (const items of [[slug.toUpperCase()], [slug.toLowerCase()], [id], [slug, id, slug.toUpperCase(), slug]]) {
          const { keyId } = await run.createKey();
          expect(await change(procedure, keyId, items)).toEqual([{ id, name: `Name of ${slug}`, slug }]);
        }
      }
      for (const item of [slug.toUpperCase(), slug, id]) {
        const { keyId } = await run.createKey({ permissions: [slug] });
        expect(await change("removePermissions", keyId, [item, item])).toEqual([]);
      }
    });

    test("[permissions §1] ids are case-sensitive, and win over a slug of the same spelling; display names mean nothing", async () => {
      const [one] = slugs(1) as [string];
      const id = await definePermission(one);
      const { keyId } = await run.createKey();
      const wrongCase = id.toUpperCase();
      expect(await slugsAfter("addPermissions", keyId, [wrongCase])).toEqual([wrongCase]);
      const { keyId: second } = await run.createKey();
      // A permission with the id of the first as its slug, in any letters.
      expect(await slugsAfter("addPermissions", second, [id])).toEqual([one]);
      expect(await slugsAfter("removePermissions", second, [id])).toEqual([]);
      const body = { keyId, permissions: ["Name.of"] };
      expectError(await run.call("keys.removePermissions", body), 404, "unkey/data/permission_not_found");
    });

    test("[permissions §1] an item that does not exist is created with name = slug = the item, by add and set, once", async () => {
      const [a, b] = [run.unique("Made.By:add*"), run.unique("made-by_set")];
      const { keyId } = await run.createKey();
      expect(await change("addPermissions", keyId, [a, a.toLowerCase(), a])).toEqual([
        { id: expect.stringMatching(/^perm_/), name: a, slug: a },
      ]);
      expect(await slugsAfter("setPermissions", keyId, [b, a])).toEqual([a, b].sort());
      for (const slug of [a, b])
        expect(await run.data("permissions.getPermission", { permission: slug })).toMatchObject({ name: slug, slug });
    });

    test("[permissions §11] removePermissions of an item that exists nowhere is 404, names it, and changes nothing", async () => {
      const [a, missing] = [run.unique("here"), run.unique("nowhere")];
      const { keyId } = await run.createKey({ permissions: [a] });
      const before = await everythingIn(run.api.store);
      const { detail } = expectError(
        await run.call("keys.removePermissions", { keyId, permissions: [a, missing] }),
        404,
        "unkey/data/permission_not_found",
      );
      expect(detail).toContain(missing);
      expect(await everythingIn(run.api.store)).toEqual(before);
    });

    test("[permissions §5] a deleted permission is gone from the list, and is created again when it is named", async () => {
      const [a, b] = slugs(2) as [string, string];
      const { keyId, key } = await run.createKey({ permissions: [a, b] });
      const old = await run.data("permissions.getPermission", { permission: a });
      await run.data("permissions.deletePermission", { permission: a });
      expect(await slugsAfter("addPermissions", keyId, [b])).toEqual([b]);
      expectError(await run.call("keys.removePermissions", { keyId, permissions: [a] }), 404, "unkey/data/permission_not_found");
      await definePermission(a);
      expect(await run.verify(key, { permissions: a })).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS" });
      const [again] = await change("addPermissions", keyId, [a]);
      expect(again?.id).not.toBe(old.id);
      expect(await run.verify(key, { permissions: a })).toMatchObject({ code: "VALID" });
    });
  });

  describe("events", () => {
    test("[permissions §12] one event for each permission that is created, connected or disconnected, named, with one correlation id", async () => {
      const { name, rootKey } = await auditor();
      const [kept, gone, fresh] = slugs(3) as [string, string, string];
      const { keyId } = await run.createKey({ name: "audited", permissions: [kept, gone] });
      await change("setPermissions", keyId, [kept, fresh], rootKey);
      const events = await eventsBy(run.api.store, name);
      const key = { type: "key", id: keyId, name: "audited" };
      const permission = (slug: string) => ({ type: "permission", id: expect.stringMatching(/^perm_/), name: slug });
      expect(events.map(({ event, resources }) => ({ event, resources }))).toEqual(
        expect.arrayContaining([
          { event: "permission.create", resources: [permission(fresh)] },
          { event: "authorization.connect_permission_and_key", resources: [key, permission(fresh)] },
          { event: "authorization.disconnect_permission_and_key", resources: [key, permission(gone)] },
        ]),
      );
      expect(events).toHaveLength(3);
      expect(new Set(events.map(({ correlationId }) => correlationId)).size).toBe(1);
    });

    test("[permissions §11] a call that changes nothing is 200 with the current list, and writes and audits nothing", async () => {
      const [a, b, other] = slugs(3) as [string, string, string];
      await definePermission(other);
      const { keyId } = await run.createKey({ permissions: [a, b] });
      const before = await everythingIn(run.api.store);
      expect(await slugsAfter("addPermissions", keyId, [b, a])).toEqual([a, b]);
      expect(await slugsAfter("setPermissions", keyId, [b, a, a.toUpperCase()])).toEqual([a, b]);
      expect(await slugsAfter("removePermissions", keyId, [other])).toEqual([a, b]);
      expect(await everythingIn(run.api.store)).toEqual(before);
    });

    test("[permissions §5] deleted permissions are not disconnected again", async () => {
      const { name, rootKey } = await auditor();
      const [a, b] = slugs(2) as [string, string];
      const { keyId } = await run.createKey({ permissions: [a, b] });
      await run.data("permissions.deletePermission", { permission: a });
      const before = await everythingIn(run.api.store);
      expect(await slugsAfter("setPermissions", keyId, [b], rootKey)).toEqual([b]);
      expect(await everythingIn(run.api.store)).toEqual(before);
      await change("setPermissions", keyId, [], rootKey);
      expect((await eventsBy(run.api.store, name)).map(({ resources }) => resources[1]?.name)).toEqual([b]);
    });
  });

  describe("refusals", () => {
    const needs: Readonly<Record<Procedure, readonly string[]>> = {
      addPermissions: ["rbac.*.add_permission_to_key"],
      removePermissions: ["rbac.*.remove_permission_from_key"],
      setPermissions: ["rbac.*.add_permission_to_key", "rbac.*.remove_permission_from_key"],
    };

    test.each(all)(
      "[permissions §11] %s needs update_key on the key's API and its rbac permissions: a 403 names each missing one",
      async (procedure) => {
        const [slug] = slugs(1) as [string];
        await definePermission(slug);
        const [mine, foreign] = [await run.createKey(), await run.createKey()];
        const refused = async (permissions: readonly string[], missing: readonly string[]) => {
          const rootKey = await run.api.createRootKey({ permissions });
          const before = await everythingIn(run.api.store);
          const body = { keyId: mine.keyId, permissions: [slug] };
          const { detail } = expectError(await run.call(`keys.${procedure}`, body, rootKey), 403, "insufficient_permissions");
          for (const each of missing) expect(detail).toContain(each);
          for (const each of permissions) expect(detail).not.toContain(each);
          expect(await everythingIn(run.api.store)).toEqual(before);
        };
        const update = `api.${mine.apiId}.update_key`;
        await refused([], ["api.*.update_key", update, ...needs[procedure]]);
        await refused([update], needs[procedure]);
        await refused([`api.${foreign.apiId}.update_key`, ...needs[procedure]], [update]);
        for (const one of needs[procedure]) {
          await refused([update, ...needs[procedure].filter((each) => each !== one)], [one]);
        }
        const enough = await run.api.createRootKey({ permissions: [update, ...needs[procedure]] });
        await change(procedure, mine.keyId, [slug], enough);
      },
    );

    test("[permissions §1] a missing item also needs create_permission; without it nothing is written, with it all is", async () => {
      const [known, missing] = slugs(2) as [string, string];
      await definePermission(known);
      for (const procedure of ["addPermissions", "setPermissions"] as const) {
        const { keyId } = await run.createKey();
        const held = ["api.*.update_key", ...needs[procedure]];
        const weak = await run.api.createRootKey({ permissions: held });
        expect(await slugsAfter(procedure, keyId, [known], weak)).toEqual([known]);
        const before = await everythingIn(run.api.store);
        const item = `${missing}.${procedure}`;
        const answer = await run.call(`keys.${procedure}`, { keyId, permissions: [known, item] }, weak);
        expect(expectError(answer, 403, "insufficient_permissions").detail).toContain("rbac.*.create_permission");
        expect(await everythingIn(run.api.store)).toEqual(before);
        const strong = await run.api.createRootKey({ permissions: [...held, "rbac.*.create_permission"] });
        expect(await slugsAfter(procedure, keyId, [known, item], strong)).toEqual([known, item].sort());
      }
    });

    test.each(all)(
      "[permissions §1] %s: a key that is unknown, deleted, of a deleted API, a secret or a root key is 404, before any 403",
      async (procedure) => {
        const [deleted, orphan] = [await run.createKey(), await run.createKey()];
        await run.data("keys.deleteKey", { keyId: deleted.keyId });
        await run.data("apis.deleteApi", { apiId: orphan.apiId });
        const rootKeyId = (await run.api.store.collection("rootKeys").findOne({}))?._id;
        const none = await run.api.createRootKey({ permissions: [] });
        const slug = run.unique("never.made");
        for (const keyId of ["key_unknown", deleted.keyId, orphan.keyId, deleted.key, rootKeyId]) {
          for (const rootKey of [none, undefined]) {
            const answer = await run.call(`keys.${procedure}`, { keyId, permissions: [slug] }, rootKey);
            expectError(answer, 404, "unkey/data/key_not_found");
          }
        }
        expectError(await run.call("permissions.getPermission", { permission: slug }), 404, "permission_not_found");
      },
    );
  });
});
