import { hash } from "node:crypto";

/** Objects that exist, for requests to name. */
export interface Objects {
  readonly apiId: string;
  readonly keyId: string;
  /** The secret of `keyId`. */
  readonly key: string;
  readonly role: string;
  readonly permission: string;
  readonly namespace: string;
  readonly identity: string;
  readonly rootKeyId: string;
  readonly migrationId: string;
}

/** Names of nothing that exists. */
export const nothing: Objects = {
  apiId: "api_nothingnothing",
  keyId: "key_nothingnothing",
  key: "nothing_nothingnothing",
  role: "nothing.role",
  permission: "nothing.permission",
  namespace: "nothing.namespace",
  identity: "nothing_identity",
  rootKeyId: "rk_nothingnothing",
  migrationId: "mig_nothingnothing",
};

const limit = { identifier: "user_1", limit: 1_000_000, duration: 60_000 };

/** A valid request of every procedure there is, with no more fields than it needs and a few that matter. */
export const validBodies: Readonly<Record<string, (objects: Objects) => object>> = {
  "analytics.getQuota": () => ({}),
  "analytics.getRatelimits": () => ({ query: "SELECT COUNT(*) FROM ratelimits_v1" }),
  "analytics.getUsage": () => ({ kind: "verifications", start: Date.now() - 60_000, end: Date.now(), granularity: "total" }),
  "analytics.getVerifications": () => ({ query: "SELECT COUNT(*) FROM key_verifications_v1" }),
  "analytics.tail": () => ({ kind: "verifications" }),
  "apis.createApi": () => ({ name: "payments" }),
  "apis.deleteApi": ({ apiId }) => ({ apiId }),
  "apis.getApi": ({ apiId }) => ({ apiId }),
  "apis.listApis": () => ({}),
  "apis.listKeys": ({ apiId }) => ({ apiId }),
  "apis.updateApi": ({ apiId }) => ({ apiId, name: "renamed" }),
  "audit.getLogs": () => ({}),
  "audit.verifyChain": () => ({}),
  "identities.createIdentity": () => ({ externalId: crypto.randomUUID() }),
  "identities.deleteIdentity": ({ identity }) => ({ identity }),
  "identities.getIdentity": ({ identity }) => ({ identity }),
  "identities.listIdentities": () => ({}),
  "identities.updateIdentity": ({ identity }) => ({ identity, meta: { plan: "pro" } }),
  "keys.addPermissions": ({ keyId, permission }) => ({ keyId, permissions: [permission] }),
  "keys.addRoles": ({ keyId, role }) => ({ keyId, roles: [role] }),
  "keys.createKey": ({ apiId }) => ({ apiId }),
  "keys.deleteKey": ({ keyId }) => ({ keyId }),
  "keys.explain": ({ keyId }) => ({ keyId }),
  "keys.getKey": ({ keyId }) => ({ keyId }),
  "keys.migrateKeys": ({ apiId, migrationId }) => ({ apiId, migrationId, keys: [{ hash: hash("sha256", crypto.randomUUID()) }] }),
  "keys.removePermissions": ({ keyId, permission }) => ({ keyId, permissions: [permission] }),
  "keys.removeRoles": ({ keyId, role }) => ({ keyId, roles: [role] }),
  "keys.rerollKey": ({ keyId }) => ({ keyId, expiration: 3_600_000 }),
  "keys.searchKeys": ({ key }) => ({ query: key }),
  "keys.setPermissions": ({ keyId, permission }) => ({ keyId, permissions: [permission] }),
  "keys.setRoles": ({ keyId, role }) => ({ keyId, roles: [role] }),
  "keys.updateCredits": ({ keyId }) => ({ keyId, operation: "set", value: 10 }),
  "keys.updateKey": ({ keyId }) => ({ keyId, name: "renamed" }),
  "keys.verifyKey": ({ key }) => ({ key }),
  "keys.whoami": ({ key }) => ({ key }),
  "migrations.createMigration": () => ({ algorithm: "sha256" }),
  "migrations.deleteMigration": ({ migrationId }) => ({ migrationId }),
  "migrations.listMigrations": () => ({}),
  "nodes.listNodes": () => ({}),
  "permissions.createPermission": () => ({ name: "Read", slug: `read.${crypto.randomUUID()}` }),
  "permissions.createRole": () => ({ name: `role.${crypto.randomUUID()}` }),
  "permissions.deletePermission": ({ permission }) => ({ permission }),
  "permissions.deleteRole": ({ role }) => ({ role }),
  "permissions.getPermission": ({ permission }) => ({ permission }),
  "permissions.getRole": ({ role }) => ({ role }),
  "permissions.listPermissions": () => ({}),
  "permissions.listRoles": () => ({}),
  "permissions.setRolePermissions": ({ role, permission }) => ({ role, permissions: [permission] }),
  "permissions.updatePermission": ({ permission }) => ({ permission, name: "Renamed" }),
  "permissions.updateRole": ({ role }) => ({ role, description: "Renamed" }),
  "ratelimit.deleteNamespace": ({ namespace }) => ({ namespace }),
  "ratelimit.deleteOverride": ({ namespace }) => ({ namespace, identifier: "user_1" }),
  "ratelimit.getOverride": ({ namespace }) => ({ namespace, identifier: "user_1" }),
  "ratelimit.limit": ({ namespace }) => ({ namespace, ...limit }),
  "ratelimit.listCounters": ({ namespace }) => ({ namespace }),
  "ratelimit.listNamespaces": () => ({}),
  "ratelimit.listOverrides": ({ namespace }) => ({ namespace }),
  "ratelimit.multiLimit": ({ namespace }) => [{ namespace, ...limit }],
  "ratelimit.setOverride": ({ namespace }) => ({ namespace, ...limit }),
  "rootKeys.createKey": () => ({ permissions: ["api.*.read_api"] }),
  "rootKeys.deleteKey": ({ rootKeyId }) => ({ keyId: rootKeyId }),
  "rootKeys.listKeys": () => ({}),
  "rootKeys.rerollKey": ({ rootKeyId }) => ({ keyId: rootKeyId, expiration: 0 }),
  "rootKeys.updateKey": ({ rootKeyId }) => ({ keyId: rootKeyId, name: "renamed" }),
  "rootKeys.whoami": () => ({}),
};

export const bodyOf = (procedure: string, objects: Objects): object => {
  const make = validBodies[procedure];
  if (!make) throw new Error(`there is no valid body of ${procedure}`);
  return make(objects);
};

/** Which of the objects the bodies of these procedures name. */
const namedBy = (procedures: readonly string[]): ReadonlySet<string> => {
  const named = new Set<string>();
  const noting: Objects = new Proxy(nothing, {
    get: (objects, name: keyof Objects) => {
      named.add(name);
      return objects[name];
    },
  });
  for (const procedure of procedures) bodyOf(procedure, noting);
  return named;
};

/**
 * Makes the objects through the service itself; `call` answers with the data of a success.
 * @param procedures makes those only that their bodies name, with what hangs together with them; the others are `nothing`'s.
 */
export const createObjects = async (
  call: (procedure: string, body: unknown) => Promise<Record<string, unknown>>,
  procedures: readonly string[] = Object.keys(validBodies),
): Promise<Objects> => {
  const named = namedBy(procedures);
  const names = (...objects: readonly (keyof Objects)[]): boolean => objects.some((object) => named.has(object));
  const unique = crypto.randomUUID();
  const made: { -readonly [name in keyof Objects]: string } = { ...nothing };
  if (names("apiId", "keyId", "key", "role", "permission", "identity")) {
    made.role = `role.${unique}`;
    made.permission = `permission.${unique}`;
    made.identity = `identity_${unique}`;
    const { apiId } = await call("apis.createApi", { name: unique });
    await call("permissions.createPermission", { name: "Permission", slug: made.permission });
    await call("permissions.createRole", { name: made.role, permissions: [made.permission] });
    const { keyId, key } = await call("keys.createKey", { apiId, externalId: made.identity });
    Object.assign(made, { apiId, keyId, key });
  }
  if (names("namespace")) {
    made.namespace = `namespace.${unique}`;
    await call("ratelimit.limit", { namespace: made.namespace, ...limit });
    await call("ratelimit.setOverride", { namespace: made.namespace, ...limit });
  }
  if (names("rootKeyId")) {
    const { keyId: rootKeyId } = await call("rootKeys.createKey", { name: unique, permissions: ["api.*.read_api"] });
    Object.assign(made, { rootKeyId });
  }
  if (names("migrationId")) Object.assign(made, await call("migrations.createMigration", { algorithm: "sha256" }));
  return made;
};
