import { describe, expect, test } from "vitest";
import type { Api } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy } from "../../support/written.ts";

const CALLERS = 12;

interface Named {
  readonly slug?: string;
  readonly name: string;
}

everywhere(
  (run) => {
    /** `CALLERS` calls at once, every second one on the other node. */
    const together = async <T>(call: (caller: number, node: Api) => Promise<T>): Promise<T[]> => {
      const nodes = [run.api, await run.other()] as const;
      return Promise.all(Array.from({ length: CALLERS }, (_, i) => call(i, nodes[i % 2] as Api)));
    };
    const auditor = async () => {
      const name = run.unique("racer");
      return { name, rootKey: await run.api.createRootKey({ name }) };
    };
    const namesOf = (data: unknown): string[] => (data as Named[]).map(({ slug, name }) => slug ?? name);
    const own = (stem: string): readonly string[] => Array.from({ length: CALLERS }, (_, i) => `${stem}.${String(i).padStart(2, "0")}`);

    describe.each([
      ["permissions", "keys.addPermissions", "keys.setPermissions", "keys.removePermissions"],
      ["roles", "keys.addRoles", "keys.setRoles", "keys.removeRoles"],
    ] as const)("%s", (field, add, set, remove) => {
      const items = async (stem: string): Promise<readonly string[]> => {
        const names = own(run.unique(stem));
        if (field === "roles") for (const name of names) await run.data("permissions.createRole", { name });
        return names;
      };
      const held = async (keyId: string): Promise<unknown> => (await run.getKey(keyId))[field];

      test("[permissions §11] parallel adds all survive, each with its event, and each answer holds what was added", async () => {
        const { name, rootKey } = await auditor();
        const names = await items("add");
        const { keyId } = await run.createKey();
        const answers = await together((i, node) => run.data(add, { keyId, [field]: [names[i]] }, rootKey, node));
        expect(await held(keyId)).toEqual(names);
        for (const [i, answer] of answers.entries()) expect(namesOf(answer)).toContain(names[i]);
        // One of them came last, and answers with all.
        expect(answers.map((answer) => namesOf(answer).length)).toContain(CALLERS);
        const connected = (await eventsBy(run.api.store, name)).filter(({ event }) => event.startsWith("authorization.connect_"));
        expect(connected.map(({ resources }) => resources[1]?.name).sort()).toEqual(names);
      });

      test("[permissions §11] parallel sets end in exactly one submitted set, and each answers with its own", async () => {
        const names = await items("set");
        const { keyId, key } = await run.createKey();
        const sets = names.map((each, i) => [each, names[(i + 1) % CALLERS] as string].sort());
        const answers = await together((i, node) => run.data(set, { keyId, [field]: sets[i] }, undefined, node));
        expect(answers.map(namesOf)).toEqual(sets);
        expect(sets).toContainEqual(await held(keyId));
        expect((await run.verify(key))[field]).toEqual(await held(keyId));
      });

      test("[permissions §11] parallel removes take everything, each with one event, and parallel adds stay", async () => {
        const { name, rootKey } = await auditor();
        const [old, fresh] = [await items("old"), await items("new")];
        const { keyId } = await run.createKey({ [field]: old });
        await together((i, node) => {
          const [procedure, item] = i % 2 ? [add, fresh[i]] : [remove, old[i]];
          return run.data(procedure, { keyId, [field]: [item] }, rootKey, node);
        });
        const expected = [...old.filter((_, i) => i % 2), ...fresh.filter((_, i) => i % 2)].sort();
        expect(await held(keyId)).toEqual(expected);
        // The same removal by many is one removal.
        await together((_, node) => run.data(remove, { keyId, [field]: [old[1]] }, rootKey, node));
        const disconnected = (await eventsBy(run.api.store, name)).filter(({ event }) => event.startsWith("authorization.disconnect_"));
        expect(disconnected.map(({ resources }) => resources[1]?.name).sort()).toEqual(old.filter((_, i) => i % 2 === 0 || i === 1));
      });
    });

    test("[permissions §1] parallel calls that name the same missing permissions all succeed and share them: one event each", async () => {
      const { name, rootKey } = await auditor();
      const slugs = own(run.unique("made")).slice(0, 3);
      const keys = await Promise.all(Array.from({ length: CALLERS }, () => run.createKey()));
      const answers = await together((i, node) => {
        const permissions = i % 3 ? slugs : slugs.map((slug) => slug.toUpperCase()).reverse();
        return run.data(i % 2 ? "keys.addPermissions" : "keys.setPermissions", { keyId: keys[i]?.keyId, permissions }, rootKey, node);
      });
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
      const events = await eventsBy(run.api.store, name);
      expect(events.filter(({ event }) => event === "permission.create")).toHaveLength(3);
      expect(events.filter(({ event }) => event === "authorization.connect_permission_and_key")).toHaveLength(3 * CALLERS);
    });

    test("[permissions §11] changes that race the key's deletion are 200 or 404 and revive nothing", async () => {
      const { keyId, key } = await run.createKey();
      const answers = await together((i, node) =>
        i === CALLERS / 2
          ? run.call("keys.deleteKey", { keyId }, undefined, node)
          : run.call("keys.addPermissions", { keyId, permissions: [`race.${i}`] }, undefined, node),
      );
      expect(answers[CALLERS / 2]?.status).toBe(200);
      for (const { status } of answers) expect([200, 404]).toContain(status);
      expect(await run.verify(key)).toEqual({ valid: false, code: "NOT_FOUND" });
    });

    test("[permissions §9] roles that are deleted while they are assigned are 200 or 404, and no key keeps them", async () => {
      const name = run.unique("short-lived");
      await run.data("permissions.createRole", { name });
      const { keyId, key } = await run.createKey();
      const answers = await together((i, node) =>
        i === CALLERS / 2
          ? run.call("permissions.deleteRole", { role: name }, undefined, node)
          : run.call("keys.setRoles", { keyId, roles: [name] }, undefined, node),
      );
      expect(answers[CALLERS / 2]?.status).toBe(200);
      for (const { status } of answers) expect([200, 404]).toContain(status);
      expect(await run.getKey(keyId)).not.toHaveProperty("roles");
      expect(await run.verify(key)).not.toHaveProperty("roles");
    });
  },
  ["v2", "grpc-js"],
);
