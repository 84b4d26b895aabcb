/** Ids and secrets that examples show; whoever runs them gets others. */
export const shown = {
  apiId: "api_2VyTgb1pXkQmZr7NcHdE5wSa",
  keyId: "key_2VyThK3mWnBvLp8RfJxC6yTq",
  newKeyId: "key_2VyTm4tVsGzKd9PbMwQe7uRh",
  key: "prod_7Kx2mVqR9sWbTn4LpHcJfD",
  rootKeyId: "rk_2VyTjQ5nXpDwMr3TgKzE8vUs",
  newRootKeyId: "rk_2VyTp8uWtHaNe5QcJxRf9kSj",
  migrationId: "mig_2VyTkS7oYqFxNt5VhLbG2wWu",
  roleId: "role_2VyTnU9pZrGyQv7XjMcH4xYw",
  permissionId: "perm_2VyTqW2qBsJzRx9ZkPdK6zAy",
} as const;

/** An example call of a procedure. */
export interface Example {
  readonly procedure: string;
  /** The body on `/v2`. */
  readonly body: unknown;
  /** Which of the values above the answer's `data` has in which field. */
  readonly gives?: Readonly<Partial<Record<keyof typeof shown, string>>>;
}

const { apiId, keyId, key, rootKeyId, newRootKeyId, migrationId } = shown;
const namespace = "emails";
const identifier = "user_42";
const day = 86_400_000;
/** Long enough ago for sums by day, and recent enough for every retention. */
const today = Math.floor(Date.UTC(2026, 10, 20) / day) * day;

/** One call of every procedure, in an order in which each finds what it needs. */
export const examples: readonly Example[] = [
  { procedure: "apis.createApi", body: { name: "payments" }, gives: { apiId: "apiId" } },
  {
    procedure: "permissions.createPermission",
    body: { name: "Read invoices", slug: "invoices.read" },
    gives: { permissionId: "permissionId" },
  },
  {
    procedure: "permissions.createRole",
    body: { name: "accountant", description: "Reads and writes invoices", permissions: ["invoices.read", "invoices.write"] },
    gives: { roleId: "roleId" },
  },
  { procedure: "identities.createIdentity", body: { externalId: identifier, meta: { plan: "pro" } } },
  {
    procedure: "keys.createKey",
    body: {
      apiId,
      prefix: "prod",
      name: "Acme production",
      externalId: identifier,
      meta: { plan: "pro" },
      roles: ["accountant"],
      credits: { remaining: 1000, refill: { interval: "monthly", amount: 1000, refillDay: 1 } },
      ratelimits: [{ name: "requests", limit: 100, duration: 60_000, autoApply: true }],
    },
    gives: { keyId: "keyId", key: "key" },
  },
  {
    procedure: "keys.verifyKey",
    body: { key, permissions: "invoices.read", credits: { cost: 1 }, tags: ["path=/invoices"] },
  },
  { procedure: "keys.explain", body: { keyId, permissions: "invoices.delete" } },
  { procedure: "keys.getKey", body: { keyId } },
  { procedure: "keys.whoami", body: { key } },
  { procedure: "keys.searchKeys", body: { query: "Acme", enabled: true, limit: 20 } },
  { procedure: "keys.updateKey", body: { keyId, name: "Acme live", expires: null, meta: { plan: "enterprise" } } },
  { procedure: "keys.updateCredits", body: { keyId, operation: "increment", value: 500 } },
  { procedure: "keys.addPermissions", body: { keyId, permissions: ["reports.read"] } },
  { procedure: "keys.setPermissions", body: { keyId, permissions: ["reports.read", "reports.write"] } },
  { procedure: "keys.removePermissions", body: { keyId, permissions: ["reports.write"] } },
  { procedure: "keys.addRoles", body: { keyId, roles: ["accountant"] } },
  { procedure: "keys.setRoles", body: { keyId, roles: ["accountant"] } },
  { procedure: "keys.removeRoles", body: { keyId, roles: ["accountant"] } },
  { procedure: "apis.getApi", body: { apiId } },
  { procedure: "apis.listApis", body: { search: "pay", limit: 20 } },
  {
    procedure: "apis.updateApi",
    body: { apiId, name: "Payments", deleteProtection: false, ipAllowlist: ["192.0.2.0/24", "2001:db8::/32"] },
  },
  { procedure: "apis.listKeys", body: { apiId, externalId: identifier, limit: 20 } },
  { procedure: "identities.getIdentity", body: { identity: identifier } },
  { procedure: "identities.listIdentities", body: { search: "user_", limit: 20 } },
  {
    procedure: "identities.updateIdentity",
    body: { identity: identifier, meta: { plan: "enterprise" }, ratelimits: [{ name: "exports", limit: 10, duration: 3_600_000 }] },
  },
  { procedure: "permissions.getPermission", body: { permission: "invoices.read" } },
  { procedure: "permissions.listPermissions", body: { search: "invoices" } },
  { procedure: "permissions.updatePermission", body: { permission: "invoices.read", description: "List and open invoices" } },
  { procedure: "permissions.getRole", body: { role: "accountant" } },
  { procedure: "permissions.listRoles", body: { limit: 20 } },
  { procedure: "permissions.setRolePermissions", body: { role: "accountant", permissions: ["invoices.read"] } },
  { procedure: "permissions.updateRole", body: { role: "accountant", name: "bookkeeper", description: null } },
  { procedure: "ratelimit.limit", body: { namespace, identifier, limit: 10, duration: 60_000 } },
  {
    procedure: "ratelimit.multiLimit",
    body: [
      { namespace, identifier, limit: 10, duration: 60_000 },
      { namespace: "bytes", identifier, limit: 1_000_000, duration: 3_600_000, cost: 2048 },
    ],
  },
  { procedure: "ratelimit.setOverride", body: { namespace, identifier: "user_*", limit: 100, duration: 60_000 } },
  { procedure: "ratelimit.getOverride", body: { namespace, identifier: "user_*" } },
  { procedure: "ratelimit.listOverrides", body: { namespace, limit: 20 } },
  { procedure: "ratelimit.listNamespaces", body: { search: "mail" } },
  { procedure: "ratelimit.listCounters", body: { namespace, identifier: "user_" } },
  {
    procedure: "rootKeys.createKey",
    body: { name: "checkout", permissions: [`api.${apiId}.verify_key`, "ratelimit.*.limit"] },
    gives: { rootKeyId: "keyId" },
  },
  { procedure: "rootKeys.whoami", body: {} },
  { procedure: "rootKeys.listKeys", body: { limit: 20 } },
  { procedure: "rootKeys.updateKey", body: { keyId: rootKeyId, permissions: [`api.${apiId}.verify_key`] } },
  { procedure: "rootKeys.rerollKey", body: { keyId: rootKeyId, expiration: 3_600_000 }, gives: { newRootKeyId: "keyId" } },
  {
    procedure: "migrations.createMigration",
    body: { algorithm: "sha256", name: "From the old gateway" },
    gives: { migrationId: "migrationId" },
  },
  { procedure: "migrations.listMigrations", body: {} },
  {
    procedure: "keys.migrateKeys",
    body: {
      migrationId,
      apiId,
      keys: [{ hash: "mfRjrhzBeomXUkLJEpDmSEzmlZFHR91lF1tAbSLLvqE=", name: "Imported", externalId: identifier }],
    },
  },
  { procedure: "audit.getLogs", body: { event: ["key.create", "key.update"], limit: 50 } },
  { procedure: "audit.verifyChain", body: { limit: 1000 } },
  { procedure: "nodes.listNodes", body: {} },
  {
    procedure: "analytics.getVerifications",
    body: { query: "SELECT outcome, count() AS n FROM key_verifications_v1 WHERE time >= now() - INTERVAL 1 DAY GROUP BY outcome" },
  },
  {
    procedure: "analytics.getRatelimits",
    body: { query: "SELECT identifier, sum(total) AS n FROM ratelimits_per_hour_v1 GROUP BY identifier ORDER BY n DESC LIMIT 10" },
  },
  {
    procedure: "analytics.getUsage",
    body: { kind: "verifications", start: today, end: today + day, granularity: "hour", groupBy: ["outcome"], filter: { apiId: [apiId] } },
  },
  { procedure: "analytics.tail", body: { kind: "verifications", limit: 100 } },
  { procedure: "analytics.getQuota", body: {} },
  { procedure: "keys.rerollKey", body: { keyId, expiration: 86_400_000 }, gives: { newKeyId: "keyId" } },
  { procedure: "keys.deleteKey", body: { keyId } },
  { procedure: "migrations.deleteMigration", body: { migrationId } },
  { procedure: "rootKeys.deleteKey", body: { keyId: newRootKeyId } },
  { procedure: "ratelimit.deleteOverride", body: { namespace, identifier: "user_*" } },
  { procedure: "ratelimit.deleteNamespace", body: { namespace } },
  { procedure: "permissions.deleteRole", body: { role: "bookkeeper" } },
  { procedure: "permissions.deletePermission", body: { permission: "invoices.write" } },
  { procedure: "identities.deleteIdentity", body: { identity: identifier } },
  { procedure: "apis.deleteApi", body: { apiId } },
  { procedure: "testing.setTime", body: { time: 1_893_456_000_000 } },
];
