import { getOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changes } from "../../gen/latchkey/v2/options_pb.ts";
import { procedureName } from "../../src/platform/rpc/procedureName.ts";
import type { AuditEvent } from "../../src/platform/storage/port/auditEvents.ts";
import { services } from "../../src/service/services.ts";
import { type Api, dataOf, startApi, type TestEnvironment } from "../support/api.ts";
import { bodyOf, createObjects, type Objects } from "../support/bodies.ts";
import { request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";
import { eventsBy } from "../support/written.ts";

const methods = services.flatMap((service) => service.methods);

/** Names of protocol §11, by the procedure that a valid request of `bodies.ts` is for. */
const expected: Readonly<Record<string, readonly string[]>> = {
  "apis.createApi": ["api.create"],
  "apis.deleteApi": ["api.delete"],
  "apis.updateApi": ["api.update"],
  "identities.createIdentity": ["identity.create"],
  "identities.deleteIdentity": ["identity.delete"],
  "identities.updateIdentity": ["identity.update"],
  "keys.addPermissions": ["authorization.connect_permission_and_key"],
  "keys.addRoles": ["authorization.connect_role_and_key"],
  "keys.createKey": ["key.create"],
  "keys.deleteKey": ["key.delete"],
  "keys.migrateKeys": ["key.create"],
  "keys.rerollKey": ["key.reroll"],
  "keys.setPermissions": ["authorization.connect_permission_and_key"],
  "keys.setRoles": ["authorization.connect_role_and_key"],
  "keys.updateCredits": ["key.update"],
  "keys.updateKey": ["key.update"],
  "migrations.createMigration": ["migration.create"],
  "migrations.deleteMigration": ["migration.delete"],
  "permissions.createPermission": ["permission.create"],
  "permissions.createRole": ["role.create"],
  "permissions.deletePermission": ["permission.delete"],
  "permissions.deleteRole": ["role.delete"],
  "permissions.updatePermission": ["permission.update"],
  "permissions.updateRole": ["role.update"],
  "ratelimit.deleteNamespace": ["ratelimitNamespace.delete"],
  "ratelimit.deleteOverride": ["ratelimit.delete_override"],
  "ratelimit.setOverride": ["ratelimit.set_override"],
  "rootKeys.createKey": ["rootKey.create"],
  "rootKeys.deleteKey": ["rootKey.delete"],
  "rootKeys.rerollKey": ["rootKey.reroll"],
  "rootKeys.updateKey": ["rootKey.update"],
  // The named objects are not assigned, or already present: nothing changes.
  "keys.removePermissions": [],
  "keys.removeRoles": [],
  "permissions.setRolePermissions": [],
};

interface Calls {
  readonly call: (procedure: string, body: unknown) => Promise<Record<string, unknown>>;
  readonly createAll: () => Promise<Objects>;
  /** The events of one call, told apart by the root key that makes it. */
  readonly eventsOfCall: (procedure: string, body: unknown) => Promise<AuditEvent[]>;
}

/**
 * Tests the events of every procedure that `isWalked` accepts, and those that `define` adds.
 * @param env settings of the service that make valid requests of these procedures succeed.
 */
export const eventsRun = (
  isWalked: (procedure: string) => boolean,
  env: TestEnvironment = {},
  define: (calls: Calls) => void = () => undefined,
): void => {
  const walked = methods.filter((method) => isWalked(procedureName(method)));

  describe.each(engines)("[protocol §11] on $name", (engine) => {
    let api: Api;
    const call = async (procedure: string, body: unknown, rootKey = api.rootKey, headers = {}): Promise<Record<string, unknown>> =>
      dataOf(await request(api.url, procedure, { rootKey, body, headers }));
    const createAll = (): Promise<Objects> => createObjects((procedure, body) => call(procedure, body));

    beforeAll(async () => {
      api = await startApi(engine, { env: { ...env, TRUSTED_PROXIES: "127.0.0.0/8" } });
    });
    afterAll(async () => {
      await api.close();
      await engine.close();
    });

    /** The events of one call, told apart by the root key that makes it. */
    const eventsOfCall = async (procedure: string, body: unknown): Promise<AuditEvent[]> => {
      const name = `${procedure} ${crypto.randomUUID()}`;
      const rootKey = await api.createRootKey({ name });
      await call(procedure, body, rootKey, { "user-agent": "audit-test/1", "x-forwarded-for": "192.0.2.7, 127.0.0.3" });
      return eventsBy(api.store, name);
    };

    test.each(walked.map((method) => [procedureName(method), method] as const))("%s", async (procedure, method) => {
      const objects = await createAll();
      const before = Date.now();
      const events = await eventsOfCall(procedure, bodyOf(procedure, objects));
      expect(events.map(({ event }) => event)).toEqual(expected[procedure] ?? []);
      expect([procedure, Object.hasOwn(expected, procedure)]).toEqual([procedure, getOption(method, changes)]);
      // Updates, and calls that end an old key, record their changes; creations and deletions do not (management §4).
      const isUpdate = /\.(update|set|add|remove|reroll)[A-Z]/.test(procedure);
      expect(events.some((event) => event.changes !== undefined)).toBe(isUpdate && events.length > 0);
      for (const { changes: told, ...event } of events) {
        if (told !== undefined) for (const each of told) expect(JSON.parse(each)).toHaveProperty("field");
        expect(event).toEqual({
          id: expect.stringMatching(/^log_[A-Za-z0-9]{16,}$/),
          event: event.event,
          time: event.time,
          actor: { type: "rootkey", id: expect.stringMatching(/^rk_/), name: expect.stringContaining(procedure) },
          display: expect.stringMatching(/\S/),
          remoteIp: "192.0.2.7",
          userAgent: "audit-test/1",
          resources: expect.any(Array),
          correlationId: expect.stringMatching(/^cor_[A-Za-z0-9]{16,}$/),
        });
        expect(event.time).toBeGreaterThanOrEqual(before);
        expect(event.resources.length).toBeGreaterThan(0);
        for (const { type, id } of event.resources) {
          const types = [
            ...["api", "key", "keySpace", "identity", "permission", "role", "migration"],
            ...["ratelimit", "ratelimitNamespace", "ratelimitOverride"],
          ];
          expect(types).toContain(type);
          expect(id).toMatch(/\S/);
        }
      }
    });

    define({ call, createAll, eventsOfCall });
  });
};
