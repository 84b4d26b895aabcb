// @same-on-every-engine
import { describe, expect, test } from "vitest";
import type { AuditEvent } from "../../../src/platform/storage/port/auditEvents.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy } from "../../support/written.ts";

/** An event in one line: its name, and the types and names of what it is about. */
const brief = ({ event, resources }: AuditEvent): string =>
  [event, ...resources.map(({ type, name }) => `${type}:${name ?? "-"}`)].join(" ");

everywhere((run) => {
  /** Runs `call` as a root key of its own, and returns what it made: the events, in brief and sorted, and in full. */
  const audited = async (call: (rootKey: string) => Promise<unknown>): Promise<{ lines: string[]; events: AuditEvent[] }> => {
    const name = run.unique("actor");
    await call(await run.api.createRootKey({ name }));
    const events = await eventsBy(run.api.store, name);
    return { lines: events.map(brief).sort(), events };
  };
  const update = (keyId: string, fields: object) => audited((rootKey) => run.data("keys.updateKey", { keyId, ...fields }, rootKey));

  describe("createKey", () => {
    test("[keys §1.10] a key with everything: one event per change, sharing a correlation id and the actor", async () => {
      const [role, known, fresh, externalId] = [run.unique("role"), run.unique("known"), run.unique("fresh"), run.unique("user")];
      await run.data("permissions.createRole", { name: role, permissions: [run.unique("of.role")] });
      await run.data("permissions.createPermission", { name: "Known", slug: known });
      const name = run.unique("api");
      const { apiId } = await run.data("apis.createApi", { name });
      let keyId: unknown;
      const { lines, events } = await audited(async (rootKey) => {
        const body = { apiId, name: "first", externalId, roles: [role, role], permissions: [known, fresh, known.toUpperCase()] };
        keyId = (await run.data("keys.createKey", body, rootKey)).keyId;
      });
      expect(lines).toEqual([
        `authorization.connect_permission_and_key key:first permission:${fresh}`,
        `authorization.connect_permission_and_key key:first permission:${known}`,
        `authorization.connect_role_and_key key:first role:${role}`,
        `identity.create identity:${externalId}`,
        `key.create key:first api:${name}`,
        `permission.create permission:${fresh}`,
      ]);
      expect(new Set(events.map(({ correlationId }) => correlationId)).size).toBe(1);
      expect(new Set(events.map(({ actor }) => JSON.stringify(actor))).size).toBe(1);
      expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
      const created = events.find(({ event }) => event === "key.create");
      expect(created).toEqual({
        id: expect.stringMatching(/^log_/),
        event: "key.create",
        time: expect.any(Number),
        actor: { type: "rootkey", id: expect.stringMatching(/^rk_/), name: expect.any(String) },
        display: expect.stringContaining(keyId as string),
        remoteIp: "127.0.0.1",
        ...(created?.userAgent === undefined ? {} : { userAgent: expect.any(String) }),
        resources: [
          { type: "key", id: keyId, name: "first" },
          { type: "api", id: apiId, name },
        ],
        correlationId: expect.stringMatching(/^cor_/),
      });
    });

    test("[keys §1.10] a plain key has one event; two calls have two correlation ids", async () => {
      const apiId = await run.createApi();
      const { events } = await audited(async (rootKey) => {
        for (const _ of [1, 2]) await run.data("keys.createKey", { apiId }, rootKey);
      });
      expect(events.map(({ event }) => event)).toEqual(["key.create", "key.create"]);
      expect(new Set(events.map(({ correlationId }) => correlationId)).size).toBe(2);
    });

    test("[protocol §5] no event holds the key's secret", async () => {
      const apiId = await run.createApi();
      let secret = "";
      const { events } = await audited(async (rootKey) => {
        const { key, keyId } = await run.data("keys.createKey", { apiId }, rootKey);
        secret = key as string;
        await run.data("keys.updateKey", { keyId, meta: { changed: true } }, rootKey);
        await run.data("keys.deleteKey", { keyId }, rootKey);
      });
      expect(events).toHaveLength(3);
      expect(JSON.stringify(events)).not.toContain(secret);
      expect(JSON.stringify(events)).not.toContain("lkr_");
    });
  });

  describe("updateKey", () => {
    test("[keys §1.10] a keyId alone, and fields of the key alone, are one key.update", async () => {
      const { keyId } = await run.createKey({ name: "first" });
      expect((await update(keyId, {})).lines).toEqual(["key.update key:first"]);
      const fields = { name: "second", meta: {}, expires: null, credits: { remaining: 1 }, ratelimits: null, enabled: false };
      const { lines, events } = await update(keyId, fields);
      expect(lines).toEqual(["key.update key:first"]);
      expect(events[0]?.resources).toEqual([{ type: "key", id: keyId, name: "first" }]);
    });

    test("[keys §1.10] replaced permissions: one event per permission made, connected and disconnected, none for what stays", async () => {
      const [stays, goes, comes] = [run.unique("stays"), run.unique("goes"), run.unique("comes")];
      const { keyId } = await run.createKey({ permissions: [stays, goes] });
      const { lines, events } = await update(keyId, { permissions: [comes, stays.toUpperCase(), comes.toUpperCase()] });
      expect(lines).toEqual([
        `authorization.connect_permission_and_key key:- permission:${comes}`,
        `authorization.disconnect_permission_and_key key:- permission:${goes}`,
        "key.update key:-",
        `permission.create permission:${comes}`,
      ]);
      expect(new Set(events.map(({ correlationId }) => correlationId)).size).toBe(1);
      expect((await update(keyId, { permissions: [stays, comes] })).lines).toEqual(["key.update key:-"]);
    });

    test("[keys §1.10] replaced roles: one event per role connected and disconnected", async () => {
      const [stays, goes, comes] = [run.unique("stays"), run.unique("goes"), run.unique("comes")];
      for (const name of [stays, goes, comes]) await run.data("permissions.createRole", { name });
      const { keyId } = await run.createKey({ roles: [stays, goes] });
      expect((await update(keyId, { roles: [stays, comes] })).lines).toEqual([
        `authorization.connect_role_and_key key:- role:${comes}`,
        `authorization.disconnect_role_and_key key:- role:${goes}`,
        "key.update key:-",
      ]);
      expect((await update(keyId, { roles: [] })).lines.slice(0, 2)).toEqual([
        `authorization.disconnect_role_and_key key:- role:${comes}`,
        `authorization.disconnect_role_and_key key:- role:${stays}`,
      ]);
    });

    test("[keys §1.10] an identity is made with its event once; linking a known one and disconnecting are just key.update", async () => {
      const externalId = run.unique("user");
      const { keyId } = await run.createKey();
      expect((await update(keyId, { externalId })).lines).toEqual([`identity.create identity:${externalId}`, "key.update key:-"]);
      expect((await update(keyId, { externalId })).lines).toEqual(["key.update key:-"]);
      expect((await update(keyId, { externalId: null })).lines).toEqual(["key.update key:-"]);
    });

    test("[permissions §5] permissions deleted in the meantime are not disconnected again", async () => {
      const [role, slug] = [run.unique("role"), run.unique("slug")];
      await run.data("permissions.createRole", { name: role });
      const { keyId } = await run.createKey({ roles: [role], permissions: [slug] });
      await run.data("permissions.deletePermission", { permission: slug });
      await run.data("permissions.deleteRole", { role });
      expect((await update(keyId, { roles: [], permissions: [] })).lines).toEqual(["key.update key:-"]);
    });
  });

  test.each([false, true])("[keys §1.10] deletion with permanent %s is one key.delete, whatever the key held", async (permanent) => {
    const role = run.unique("role");
    await run.data("permissions.createRole", { name: role });
    const { keyId } = await run.createKey({
      name: "last",
      roles: [role],
      permissions: [run.unique("slug")],
      externalId: run.unique("user"),
    });
    const { lines, events } = await audited((rootKey) => run.data("keys.deleteKey", { keyId, permanent }, rootKey));
    expect(lines).toEqual(["key.delete key:last"]);
    expect(events[0]?.resources).toEqual([{ type: "key", id: keyId, name: "last" }]);
  });

  test("[permissions §12] assignments through setPermissions and setRoles name what was disconnected", async () => {
    const [slug, role] = [run.unique("slug"), run.unique("role")];
    await run.data("permissions.createRole", { name: role });
    const { keyId } = await run.createKey({ roles: [role], permissions: [slug] });
    const { lines } = await audited(async (rootKey) => {
      await run.data("keys.setPermissions", { keyId, permissions: [] }, rootKey);
      await run.data("keys.setRoles", { keyId, roles: [] }, rootKey);
    });
    expect(lines).toEqual([
      `authorization.disconnect_permission_and_key key:- permission:${slug}`,
      `authorization.disconnect_role_and_key key:- role:${role}`,
    ]);
  });
});

everywhere(
  (run) => {
    test("[protocol §11] events that pile up in a key wait for the log to take them, and none is lost", async () => {
      const stem = run.unique("pile");
      const sets = ["a", "b"].map((set) => Array.from({ length: 300 }, (_, i) => `${stem}.${set}.${i}`));
      const { keyId } = await run.createKey({ permissions: sets[0] });
      await run.createKey({ permissions: sets[1] });
      const name = run.unique("actor");
      const rootKey = await run.api.createRootKey({ name });
      for (const i of [1, 2, 3, 4, 5, 6]) await run.data("keys.updateKey", { keyId, permissions: sets[i % 2] }, rootKey);
      // Each call replaces up to 300 by 300, and up to 300 more were waiting when the last one started.
      expect(await eventsBy(run.api.store, name)).toHaveLength(6 * 601);
      const stored = await run.api.store.collection("keys").findOne({ _id: keyId });
      expect(stored?.outbox?.length ?? 0).toBeLessThan(2 * 601);
    });
  },
  ["v2"],
);
