import { describe, expect, test } from "vitest";
import type { Api } from "../../support/api.ts";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy } from "../../support/written.ts";

const CALLERS = 12;

everywhere((run) => {
  /** `CALLERS` calls at once, every second one on the other node. */
  const together = async <T>(call: (caller: number, node: Api) => Promise<T>): Promise<T[]> => {
    const nodes = [run.api, await run.other()] as const;
    return Promise.all(Array.from({ length: CALLERS }, (_, i) => call(i, nodes[i % 2] as Api)));
  };
  const auditor = async (): Promise<readonly [name: string, rootKey: string]> => {
    const name = run.unique("racer");
    return [name, await run.api.createRootKey({ name })];
  };
  const slugsOf = async (role: string): Promise<string[]> => {
    const { permissions } = await run.data("permissions.getRole", { role });
    return (permissions as { slug: string }[]).map(({ slug }) => slug);
  };

  test("[permissions §2] concurrent creates of one slug, in any letter case: one is 200 and the others 409", async () => {
    const [name, rootKey] = await auditor();
    const slug = run.unique("Race.One");
    const answers = await together((i, node) =>
      run.call("permissions.createPermission", { name: `caller ${i}`, slug: i % 3 ? slug : slug.toUpperCase() }, rootKey, node),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    for (const answer of answers) if (answer !== won[0]) expectError(answer, 409, "unkey/data/permission_already_exists");
    const { id } = await run.data("permissions.getPermission", { permission: slug });
    expect(won[0]?.body.data).toEqual({ permissionId: id });
    expect((await eventsBy(run.api.store, name)).map(({ event }) => event)).toEqual(["permission.create"]);
  });

  describe("permissions.createRole", () => {
    test("[permissions §6] concurrent creates of one name, in any letter case: one is 200 and the others 409", async () => {
      const [name, rootKey] = await auditor();
      const role = run.unique("Race Role");
      const answers = await together((i, node) => {
        const body = {
          name: i % 3 ? role : role.toLowerCase(),
          description: `caller ${i}`,
          permissions: [`${role.replaceAll(" ", ".")}.${i}`],
        };
        return run.call("permissions.createRole", body, rootKey, node);
      });
      const won = answers.findIndex(({ status }) => status === 200);
      for (const [i, answer] of answers.entries()) if (i !== won) expectError(answer, 409, "unkey/data/role_already_exists");
      expect(await run.data("permissions.getRole", { role })).toMatchObject({
        description: `caller ${won}`,
        permissions: [{ slug: `${role.replaceAll(" ", ".")}.${won}` }],
      });
      const events = (await eventsBy(run.api.store, name)).map(({ event }) => event);
      // A call that loses after it created its permission leaves that permission and its event behind (protocol §2).
      expect(events.filter((event) => event !== "permission.create").sort()).toEqual([
        "authorization.connect_role_and_permission",
        "role.create",
      ]);
    });

    test("[permissions §6] concurrent calls that name the same missing permissions all succeed and share them", async () => {
      const [name, rootKey] = await auditor();
      const roles = Array.from({ length: CALLERS }, () => run.unique("sharer"));
      const slugs = [run.unique("Shared.b"), run.unique("Shared.a")];
      await together((i, node) => {
        const permissions = i % 2 ? slugs : slugs.map((slug) => slug.toLowerCase()).reverse();
        return run.data("permissions.createRole", { name: roles[i], permissions }, rootKey, node);
      });
      const held = await Promise.all(roles.map(slugsOf));
      expect(new Set(held.map((list) => JSON.stringify(list))).size).toBe(1);
      expect(held[0]?.map((slug) => slug.toLowerCase()).sort()).toEqual(slugs.map((slug) => slug.toLowerCase()).sort());
      const events = (await eventsBy(run.api.store, name)).map(({ event }) => event);
      const count = (wanted: string): number => events.filter((event) => event === wanted).length;
      expect([count("permission.create"), count("role.create"), count("authorization.connect_role_and_permission")]).toEqual([
        2,
        CALLERS,
        2 * CALLERS,
      ]);
    });

    test("[permissions §1] roles, keys and createPermission may race for one slug: there is one permission in the end", async () => {
      const slug = run.unique("Contended");
      const { apiId, keyId } = await run.createKey();
      const answers = await together((i, node) => {
        const calls = [
          ["permissions.createPermission", { name: "n", slug }],
          ["permissions.createRole", { name: run.unique("contender"), permissions: [slug.toUpperCase()] }],
          ["keys.createKey", { apiId, permissions: [slug.toLowerCase()] }],
          ["keys.updateKey", { keyId, permissions: [slug] }],
        ] as const;
        const [procedure, body] = calls[i % calls.length] as (typeof calls)[number];
        return run.call(procedure, body, undefined, node);
      });
      for (const [i, { status }] of answers.entries()) expect(i % 4 === 0 ? [200, 409] : [200]).toContain(status);
      const stored = await run.api.store.collection("permissions").find({ slugKey: slug.toLowerCase() }).toArray();
      expect(stored).toHaveLength(1);
      expect((await run.getKey(keyId)).permissions).toEqual([stored[0]?.slug]);
    });

    if (run.edge === "v2")
      test("[permissions §6] 1000 permissions at once, wanted by two roles on two nodes", async () => {
        const stem = run.unique("thousand");
        const permissions = Array.from({ length: 1000 }, (_, i) => `${stem}.${String(i).padStart(4, "0")}`);
        const roles = [run.unique("role"), run.unique("role")];
        const nodes = [run.api, await run.other()];
        await Promise.all(roles.map((name, i) => run.data("permissions.createRole", { name, permissions }, undefined, nodes[i])));
        for (const role of roles) expect(await slugsOf(role)).toEqual(permissions);
      });
  });
});
