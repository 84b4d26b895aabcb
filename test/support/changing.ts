import { hash } from "node:crypto";
import { getOption } from "@bufbuild/protobuf";
import { changes } from "../../gen/latchkey/v2/options_pb.ts";
import { procedureName } from "../../src/platform/rpc/procedureName.ts";
import type { CollectionName } from "../../src/platform/storage/port/documents.ts";
import { services } from "../../src/service/services.ts";
import { bodyOf, type Objects } from "./bodies.ts";

/** Every procedure that changes something, by the option of its method: none can be forgotten. */
export const changing: readonly string[] = services.flatMap((service) =>
  service.methods.filter((method) => getOption(method, changes)).map(procedureName),
);

const most = [
  ...["apis.deleteApi", "apis.updateApi", "identities.updateIdentity", "migrations.createMigration", "ratelimit.setOverride"],
  ...["keys.createKey", "keys.deleteKey", "keys.migrateKeys", "keys.rerollKey", "keys.updateCredits"],
  ...["permissions.deleteRole", "permissions.setRolePermissions", "rootKeys.rerollKey"],
];

/** The procedure of each namespace with most writes, or with an order of writes of its own: for suites that kill a process after each write. */
export const writingMost: readonly string[] = changing.filter((name) => most.includes(name));

/** The collections that a node writes in the background. */
export const background: readonly CollectionName[] = ["changes", "audit", "leases", "counters", "nodes", "system"];
/** A text that nothing else has. */
export const unique = (stem: string): string => `${stem}.${crypto.randomUUID()}`;

/** Requests that take more writes than those that are merely valid. */
const bodies: Readonly<Record<string, (objects: Objects) => object>> = {
  "identities.updateIdentity": ({ identity }) => ({ identity, ratelimits: [{ name: "requests", limit: 5, duration: 60_000 }] }),
  "keys.createKey": ({ apiId, role }) => ({ apiId, roles: [role], permissions: [unique("a"), unique("b")], externalId: unique("user") }),
  "keys.updateKey": ({ keyId }) => ({
    keyId,
    permissions: [unique("a"), unique("b")],
    externalId: unique("user"),
    credits: { remaining: 7 },
  }),
  "keys.addPermissions": ({ keyId }) => ({ keyId, permissions: [unique("a"), unique("b")] }),
  "keys.setPermissions": ({ keyId }) => ({ keyId, permissions: [unique("a"), unique("b")] }),
  "keys.setRoles": ({ keyId }) => ({ keyId, roles: [] }),
  "keys.updateCredits": ({ keyId }) => ({ keyId, operation: "increment", value: 5 }),
  "keys.rerollKey": ({ keyId }) => ({ keyId, expiration: 0 }),
  "keys.migrateKeys": (objects) => {
    const imported = () => ({
      hash: hash("sha256", crypto.randomUUID()),
      permissions: [unique("a")],
      roles: [unique("r")],
      externalId: unique("user"),
    });
    return { ...bodyOf("keys.migrateKeys", objects), keys: [imported(), imported(), imported()] };
  },
  "permissions.createRole": () => ({ name: unique("role"), permissions: [unique("a"), unique("b")] }),
  "permissions.setRolePermissions": ({ role }) => ({ role, permissions: [unique("a"), unique("b")] }),
  // After the change, the old name finds nothing.
  "permissions.updatePermission": ({ permission }) => ({ permission, slug: unique("renamed") }),
  "permissions.updateRole": ({ role }) => ({ role, name: unique("renamed") }),
};

/** The body of a valid request that causes the most writes of its procedure. */
export const manyWritesOf = (procedure: string, objects: Objects): object =>
  (bodies[procedure] ?? ((all: Objects) => bodyOf(procedure, all)))(objects);
