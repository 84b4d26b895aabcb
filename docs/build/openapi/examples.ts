import type { JsonSchema } from "./jsonSchema.ts";

const keyId = "key_4xNoQ2dRb7TzLmVw";
const rootKeyId = "rk_7wXyZ9aBcD2eFgHi";
const time = 1_767_225_600_000;

/** What fields hold in examples, by name; those of one procedure or message where one name means several things. */
const values: Readonly<Record<string, unknown>> = {
  requestId: "req_5rLYyQvZ3mDk8HcJ",
  apiId: "api_8uTb3KfWq1XsZnYe",
  keyId,
  rootKeyId,
  nodeId: "node_6eFgH1iJkL4mNoPq",
  correlationId: "cor_8fGhJ2kLmN5pQrSt",
  key: "docs_3ZHfQxv2WkYtPmNa9RbLcE",
  keyspaceId: "api_8uTb3KfWq1XsZnYe",
  externalId: "user_123",
  identity: "user_123",
  identityId: "id_6pQrs8TuvW2xYz4A",
  permission: "documents.read",
  permissionId: "perm_7aBcD3eFgH5iJkLm",
  permissions: ["documents.read"],
  role: "editor",
  roleId: "role_9nOpQ1rStU3vWxYz",
  roles: ["editor"],
  name: "production",
  slug: "documents.read",
  namespace: "email.send",
  namespaceId: "rlns_2bCdE4fGhI6jKlMn",
  overrideId: "rlor_5oPqR7sTuV9wXyZa",
  identifier: "user_123",
  limit: 100,
  duration: 60_000,
  operation: "increment",
  algorithm: "sha256",
  migrationId: "mig_3cDeF5gHiJ7kLmNo",
  hash: "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=",
  expiration: 3_600_000,
  start: "docs_3ZHf",
  end: "LcE1",
  createdAt: time,
  lastUsedAt: time,
  reset: time,
  time: "2026-01-01T00:00:00.000Z",
  insertedAt: "2026-01-01T00:00:00.000Z",
  expires: time,
  auditLogId: "log_1aBcD2eFgHiJkLmN",
  version: "v1",
  event: "key.create",
  description: "Created a key",
  outcome: "success",
  source: "platform",
  type: "key",
  id: "id_6pQrs8TuvW2xYz4A",
  hasMore: false,
  valid: true,
  success: true,
  passed: true,
  enabled: true,
  query: "SELECT COUNT(*) AS verifications FROM key_verifications_v1",
  cursor: "eyJrZXkiOiJrZXlfMTIzNCJ9",
};

/** Requests that show more than what is required. */
const requests: Readonly<Record<string, object>> = {
  "analytics.getRatelimits": { query: "SELECT COUNT(*) AS checks FROM ratelimits_v1" },
  "analytics.getUsage": { kind: "verifications", start: time, end: time + 86_400_000, granularity: "hour", groupBy: ["outcome"] },
  "apis.updateApi": { apiId: values.apiId, ipAllowlist: ["192.0.2.0/24"] },
  "audit.getLogs": { event: ["key.create"], limit: 50 },
  "identities.createIdentity": { externalId: "user_123", meta: { plan: "pro" } },
  "identities.updateIdentity": { identity: "user_123", meta: { plan: "free" } },
  "keys.createKey": {
    apiId: values.apiId,
    prefix: "docs",
    externalId: "user_123",
    permissions: ["documents.read"],
    credits: { remaining: 1_000, refill: { interval: "monthly", amount: 1_000, refillDay: 1 } },
    ratelimits: [{ name: "requests", limit: 100, duration: 60_000, autoApply: true }],
  },
  "keys.explain": { keyId, permissions: "documents.write" },
  "keys.searchKeys": { query: "docs_3ZHf" },
  "keys.updateCredits": { keyId, operation: "increment", value: 100 },
  "keys.updateKey": { keyId, name: "renamed", expires: null },
  "keys.verifyKey": { key: values.key, permissions: "documents.read", ratelimits: [{ name: "requests" }] },
  "permissions.setRolePermissions": { role: "editor", permissions: ["documents.read", "documents.write"] },
  "permissions.updatePermission": { permission: "documents.read", description: "Read documents" },
  "permissions.updateRole": { role: "editor", description: "Reads and writes documents" },
  "rootKeys.createKey": { name: "verifier", permissions: ["api.*.verify_key"] },
  "rootKeys.deleteKey": { keyId: rootKeyId },
  "rootKeys.rerollKey": { keyId: rootKeyId, expiration: 3_600_000 },
  "rootKeys.updateKey": { keyId: rootKeyId, enabled: false },
};

/** What examples of answers show although it may be absent. */
const shown: ReadonlySet<string> = new Set(["keyId", "keyspaceId", "enabled", "name", "permissions", "roles"]);

const isSchema = (value: unknown): value is JsonSchema => typeof value === "object" && value !== null && !Array.isArray(value);

const hasForm = ({ pattern, minLength }: JsonSchema, text: string): boolean =>
  text.length >= Number(minLength ?? 0) && (typeof pattern !== "string" || new RegExp(pattern, "u").test(text));

const satisfies = (schema: JsonSchema, value: unknown): boolean => {
  const types = [schema.type].flat();
  if (Array.isArray(schema.enum)) return schema.enum.includes(value);
  if (Array.isArray(value)) return types.includes("array") && !("$ref" in ((schema.items as JsonSchema) ?? {}));
  if (typeof value === "number") return types.includes("integer") && value >= Number(schema.minimum ?? 0);
  return types.includes(typeof value) && (typeof value !== "string" || hasForm(schema, value));
};

/** A value that a schema allows: of an object what it requires, and what `isShown`. `resolve` finds what a reference leads to. */
const sample = (schema: JsonSchema, resolve: (ref: string) => JsonSchema, isShown: (field: string) => boolean, name = ""): unknown => {
  const sampleOf = (inner: JsonSchema, field?: string): unknown => sample(inner, resolve, isShown, field);
  if (typeof schema.$ref === "string") return sampleOf(resolve(schema.$ref), name);
  if (satisfies(schema, values[name])) return values[name];
  const [first] = Array.isArray(schema.anyOf) ? schema.anyOf : [];
  if (isSchema(first)) return sampleOf(first, name);
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const [type] = [schema.type].flat();
  if (type === "array") return isSchema(schema.items) && schema.items.additionalProperties !== true ? [sampleOf(schema.items)] : [];
  if (type === "integer") return Math.max(1, Number(schema.minimum ?? 1));
  if (type === "boolean") return true;
  if (schema.format === "date-time") return values.time;
  if (type === "string") return hasForm(schema, "example") ? "example" : Object.values(values).find((value) => satisfies(schema, value));
  const { properties, required } = schema;
  const needed = Array.isArray(required) ? (required as string[]) : [];
  const all = isSchema(properties) ? properties : {};
  const fields = Object.keys(all).filter((field) => needed.includes(field) || isShown(field));
  return Object.fromEntries(fields.map((field) => [field, sampleOf(all[field] as JsonSchema, field)]));
};

/** Examples of a procedure's request and answer. */
export interface Examples {
  readonly request: (procedure: string, schema: JsonSchema) => unknown;
  readonly response: (schema: JsonSchema) => unknown;
}

export const createExamples = (schemas: () => Readonly<Record<string, JsonSchema>>): Examples => {
  const resolve = (ref: string): JsonSchema => {
    const found = schemas()[ref.slice(ref.lastIndexOf("/") + 1)];
    if (found === undefined) throw new Error(`${ref} leads nowhere`);
    return found;
  };
  return {
    request: (procedure, schema) => requests[procedure] ?? sample(schema, resolve, () => false),
    response: (schema) => sample(schema, resolve, (field) => shown.has(field)),
  };
};
