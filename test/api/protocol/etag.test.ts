// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { bodyOf } from "../../support/bodies.ts";
import { asking, createSubjects, exchange, readTagged, type Subjects, showing } from "../../support/conditional.ts";
import { procedureNames } from "../../support/edges.ts";
import { everywhere } from "../../support/everywhere.ts";
import { createTestClock } from "../../support/testClock.ts";

const DAY = 86_400_000;
const clock = createTestClock();

/** Changes of each object that its reader can see: which procedure, with what. */
const changes: Readonly<Record<string, (subjects: Subjects) => readonly (readonly [string, object])[]>> = {
  "apis.getApi": ({ apiId }) => [
    ["apis.updateApi", { apiId, name: "renamed" }],
    ["apis.updateApi", { apiId, deleteProtection: true }],
    ["apis.updateApi", { apiId, ipAllowlist: ["10.0.0.0/8"] }],
  ],
  "identities.getIdentity": ({ identity }) => [
    ["identities.updateIdentity", { identity, meta: { plan: "pro" } }],
    ["identities.updateIdentity", { identity, ratelimits: [{ name: "requests", limit: 1, duration: 1_000 }] }],
  ],
  "keys.getKey": ({ keyId, permission, role, identity }) => [
    ...[
      { name: "renamed" },
      { name: null },
      { meta: { plan: "pro" } },
      { enabled: false },
      { expires: 4_000_000_000_000 },
      { ratelimits: [{ name: "requests", limit: 1, duration: 1_000 }] },
      { ratelimits: [{ name: "requests", limit: 2, duration: 1_000 }] },
      { ratelimits: null },
      { credits: { remaining: 5 } },
      { credits: { refill: { interval: "daily", amount: 1 } } },
      { externalId: null },
      { externalId: identity },
      { roles: [] },
      { permissions: [] },
    ].map((fields) => ["keys.updateKey", { keyId, ...fields }] as const),
    ["keys.updateCredits", { keyId, operation: "increment", value: 1 }],
    ["keys.updateCredits", { keyId, operation: "decrement", value: 1 }],
    ["keys.updateCredits", { keyId, operation: "set", value: 9 }],
    ["keys.updateCredits", { keyId, operation: "set", value: null }],
    ["keys.addPermissions", { keyId, permissions: [permission] }],
    ["keys.removePermissions", { keyId, permissions: [permission] }],
    ["keys.setPermissions", { keyId, permissions: [permission] }],
    ["keys.addRoles", { keyId, roles: [role] }],
    ["keys.removeRoles", { keyId, roles: [role] }],
    ["keys.setRoles", { keyId, roles: [role] }],
    ["keys.rerollKey", { keyId, expiration: 3_600_000 }],
  ],
  "permissions.getPermission": ({ permission }) => [
    ["permissions.updatePermission", { permission, name: "Renamed" }],
    ["permissions.updatePermission", { permission, description: "described" }],
    ["permissions.updatePermission", { permission, description: null }],
  ],
  "permissions.getRole": ({ role, permission }) => [
    ["permissions.updateRole", { role, description: "described" }],
    ["permissions.setRolePermissions", { role, permissions: [] }],
    ["permissions.setRolePermissions", { role, permissions: [permission] }],
  ],
  "ratelimit.getOverride": ({ namespace }) => [
    ["ratelimit.setOverride", { namespace, identifier: "user_1", limit: 2, duration: 60_000 }],
    ["ratelimit.setOverride", { namespace, identifier: "user_1", limit: 2, duration: 90_000 }],
  ],
  "rootKeys.whoami": ({ rootKeyId }) => [
    ["rootKeys.updateKey", { keyId: rootKeyId, name: "renamed" }],
    ["rootKeys.updateKey", { keyId: rootKeyId, permissions: ["api.*.read_key"] }],
    ["rootKeys.updateKey", { keyId: rootKeyId, expires: 4_000_000_000_000 }],
    ["rootKeys.rerollKey", { keyId: rootKeyId, expiration: 3_600_000 }],
  ],
};

test("[management §2] seven procedures show a revision, and what asks for one changes what they show", () => {
  expect([...showing.keys()].sort()).toEqual([
    "apis.getApi",
    "identities.getIdentity",
    "keys.getKey",
    "permissions.getPermission",
    "permissions.getRole",
    "ratelimit.getOverride",
    "rootKeys.whoami",
  ]);
  expect(Object.keys(changes).sort()).toEqual([...showing.keys()].sort());
  expect(new Set(asking.values())).toEqual(new Set(showing.values()));
});

everywhere(
  (run) => {
    test("[management §2] the procedures that read one object answer with its tag, always the same, and no others do", async () => {
      const subjects = await createSubjects(run);
      for (const procedure of procedureNames) {
        if (/^(analytics|testing)\./.test(procedure) || /\.(delete|reroll)/.test(procedure)) continue;
        const { etag } = await exchange(run, procedure, bodyOf(procedure, subjects));
        expect([procedure, etag]).toEqual([procedure, showing.has(procedure) ? expect.stringMatching(/^"[A-Za-z0-9_-]{22}"$/) : null]);
      }
      for (const procedure of showing.keys()) {
        const { tag } = await readTagged(run, procedure, subjects);
        expect([procedure, (await readTagged(run, procedure, subjects, await run.other())).tag]).toEqual([procedure, tag]);
      }
    });

    test("[management §2] an error has no tag", async () => {
      const { keyId } = await run.createKey({});
      expect(await exchange(run, "keys.getKey", { keyId, decrypt: true })).toMatchObject({ status: 412, etag: null });
      expect(await exchange(run, "keys.getKey", { keyId: "key_unknownunknown" })).toMatchObject({ status: 404, etag: null });
    });

    test.each([...showing.keys()])("[management §2] the tag of %s changes with every change of the object", async (procedure) => {
      const subjects = await createSubjects(run);
      const tags = [(await readTagged(run, procedure, subjects)).tag];
      for (const [change, body] of changes[procedure]?.(subjects) ?? []) {
        await run.data(change, body);
        const { tag } = await readTagged(run, procedure, subjects);
        expect(tags, `${change} ${JSON.stringify(body)}`).not.toContain(tag);
        tags.push(tag);
      }
    });

    test("[management §2] a tag tells neither whose it is nor which revision", async () => {
      const subjects = await createSubjects(run);
      const { tag } = await readTagged(run, "keys.getKey", subjects);
      for (const text of [subjects.keyId, subjects.key]) expect(tag).not.toContain(text.slice(-6));
      const others = [await createSubjects(run), await createSubjects(run)];
      const tags = await Promise.all(others.map(async (each) => (await readTagged(run, "keys.getKey", each)).tag));
      expect(new Set([tag, ...tags]).size).toBe(3);
    });

    describe("events that do not change the object", () => {
      test("[management §2] verifications, spent credits, refills, peeks and reads leave the tag of a key as it is", async () => {
        const { keyId, key, apiId } = await run.createKey({ credits: { remaining: 5, refill: { interval: "daily", amount: 3 } } });
        const read = async () => {
          const answer = await exchange(run, "keys.getKey", { keyId });
          return { tag: answer.etag, credits: (answer.body.data as { credits: { remaining: number } }).credits.remaining };
        };
        const { tag } = await read();
        expect(await run.verify(key, { credits: { cost: 2 } })).toMatchObject({ valid: true });
        await run.data("apis.listKeys", { apiId });
        expect(await read()).toEqual({ tag, credits: 3 });
        clock.advance(DAY);
        expect(await read()).toEqual({ tag, credits: 6 });
        // Brings the refill into the stored balance, in a write of its own.
        expect(await run.verify(key, { credits: { cost: 1 } })).toMatchObject({ valid: true });
        expect(await read()).toEqual({ tag, credits: 5 });
        // A change counts as one also where it brings in a refill.
        clock.advance(DAY);
        await run.data("keys.updateCredits", { keyId, operation: "increment", value: 1 });
        const after = await read();
        expect(after.credits).toBe(9);
        expect(after.tag).not.toBe(tag);
      });

      test("[management §2] calls leave the tag of the root key that makes them as it is", async () => {
        const subjects = await createSubjects(run);
        const { tag } = await readTagged(run, "rootKeys.whoami", subjects);
        for (let i = 0; i < 3; i++) await run.data("apis.getApi", { apiId: subjects.apiId }, subjects.rootKey);
        expect((await readTagged(run, "rootKeys.whoami", subjects)).tag).toBe(tag);
      });

      test("[management §2] the objects that a key or role names have revisions of their own", async () => {
        const subjects = await createSubjects(run);
        const key = await readTagged(run, "keys.getKey", subjects);
        const role = await readTagged(run, "permissions.getRole", subjects);
        await run.data("permissions.updatePermission", { permission: subjects.permission, name: "Renamed" });
        await run.data("identities.updateIdentity", { identity: subjects.identity, meta: { a: 1 } });
        expect((await readTagged(run, "permissions.getRole", subjects)).tag).toBe(role.tag);
        await run.data("permissions.updateRole", { role: subjects.role, description: "described" });
        expect((await readTagged(run, "keys.getKey", subjects)).tag).toBe(key.tag);
      });

      test("[management §2] an update that changes nothing, and is none of the calls that always write, leaves the tag as it is", async () => {
        const subjects = await createSubjects(run);
        for (const [reader, procedure, body] of [
          ["keys.getKey", "keys.addRoles", { keyId: subjects.keyId, roles: [subjects.role] }],
          ["identities.getIdentity", "identities.updateIdentity", { identity: subjects.identity }],
          ["permissions.getRole", "permissions.setRolePermissions", { role: subjects.role, permissions: [subjects.permission] }],
        ] as const) {
          const { tag } = await readTagged(run, reader, subjects);
          await run.data(procedure, body);
          expect([procedure, (await readTagged(run, reader, subjects)).tag]).toEqual([procedure, tag]);
        }
      });
    });

    test("[management §2] an object that is deleted and created again under its name has another tag, at every revision", async () => {
      const namespace = run.unique("namespace");
      await run.data("ratelimit.limit", { namespace, identifier: "user", limit: 1, duration: 1_000 });
      const [externalId, slug, name] = [run.unique("user"), run.unique("slug"), run.unique("role")];
      const override = { namespace, identifier: "user", limit: 1, duration: 1_000 };
      for (const [create, fields, reader, remove, address] of [
        ["identities.createIdentity", { externalId }, "identities.getIdentity", "identities.deleteIdentity", { identity: externalId }],
        [
          "permissions.createPermission",
          { name: slug, slug },
          "permissions.getPermission",
          "permissions.deletePermission",
          { permission: slug },
        ],
        ["permissions.createRole", { name }, "permissions.getRole", "permissions.deleteRole", { role: name }],
        ["ratelimit.setOverride", override, "ratelimit.getOverride", "ratelimit.deleteOverride", { namespace, identifier: "user" }],
      ] as const) {
        const tags = [];
        for (let i = 0; i < 3; i++) {
          await run.data(create, fields);
          tags.push((await exchange(run, reader, address)).etag);
          await run.data(remove, address);
        }
        expect([create, new Set(tags).size]).toEqual([create, 3]);
      }
    });
  },
  undefined,
  { clock },
);
