import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { openapiDocument } from "../../docs/build/openapi/openapiDocument.ts";
import { procedureNames } from "../support/edges.ts";
import { createOpenapiJudge, readOpenapi } from "../support/openapi.ts";

const openapi = readOpenapi();
const judge = createOpenapiJudge();

test("is what the interface makes of it, and valid OpenAPI 3.1", async () => {
  expect(openapiDocument()).toEqual(openapi);
  const validator = new Validator();
  expect(await validator.validate(openapiDocument())).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
});

test("describes every procedure, and no other", () => {
  const described = Object.values(openapi.paths).flatMap(({ post }) => post?.operationId ?? []);
  expect(described.sort()).toEqual([...procedureNames].sort());
});

test("its examples are valid", () => {
  const wrong = procedureNames.flatMap((procedure) => {
    const { requestBody, responses } = openapi.paths[`/v2/${procedure}`]?.post ?? {};
    const success = responses?.[200];
    const request = requestBody?.content["application/json"]?.example;
    const response = success && "content" in success ? success.content["application/json"]?.example : undefined;
    return [judge.request(procedure, request), judge.answer(procedure, 200, "application/json", response)].flatMap((said) =>
      said === undefined ? [] : [`${procedure}: ${said}`],
    );
  });
  expect(wrong).toEqual([]);
});

interface Schema {
  readonly $ref?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly default?: unknown;
}

const schemas = openapi.components.schemas as Readonly<Record<string, Schema>>;

const follow = (schema: Schema): Schema => (schema.$ref === undefined ? schema : (schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}));

/** The defaults of a schema by the paths of their fields. */
const defaultsIn = (schema: Schema, path = ""): Record<string, unknown> => {
  const found: Record<string, unknown> = schema.default === undefined ? {} : { [path]: schema.default };
  const { items, properties = {} } = follow(schema);
  if (items !== undefined) Object.assign(found, defaultsIn(items, `${path}[]`));
  for (const [name, inner] of Object.entries(properties)) Object.assign(found, defaultsIn(inner, path === "" ? name : `${path}.${name}`));
  return found;
};

const bodyOf = (procedure: string): Schema =>
  openapi.paths[`/v2/${procedure}`]?.post?.requestBody.content["application/json"]?.schema ?? {};

test("[protocol §12, identities createIdentity, ratelimit §6, management §4, §6, data §4] names the default of every field that has one", () => {
  const page = { limit: 100 };
  const autoApply = { "ratelimits[].autoApply": false };
  const defaults = procedureNames.map((procedure) => [procedure, defaultsIn(bodyOf(procedure))] as const);
  expect(Object.fromEntries(defaults.filter(([, fields]) => Object.keys(fields).length > 0))).toEqual({
    "analytics.getUsage": { orderBy: "time", limit: 100 },
    "analytics.tail": { waitMs: 0, limit: 100 },
    "apis.listApis": page,
    "apis.listKeys": { limit: 100, decrypt: false, revalidateKeysCache: false },
    "audit.getLogs": page,
    "audit.verifyChain": { limit: 10_000 },
    "identities.createIdentity": autoApply,
    "identities.deleteIdentity": { erase: false },
    "identities.listIdentities": page,
    "identities.updateIdentity": autoApply,
    "keys.createKey": { byteLength: 16, ...autoApply, enabled: true, recoverable: false },
    "keys.deleteKey": { permanent: false },
    "keys.explain": { "ratelimits[].cost": 1 },
    "keys.getKey": { decrypt: false },
    "keys.migrateKeys": { "keys[].ratelimits[].autoApply": false, "keys[].enabled": true },
    "keys.searchKeys": page,
    "keys.updateKey": autoApply,
    "keys.verifyKey": { "ratelimits[].cost": 1 },
    "migrations.listMigrations": page,
    "permissions.listPermissions": page,
    "permissions.listRoles": page,
    "ratelimit.limit": { cost: 1 },
    "ratelimit.listCounters": page,
    "ratelimit.listNamespaces": page,
    "ratelimit.listOverrides": { limit: 10 },
    "ratelimit.multiLimit": { "[].cost": 1 },
    "rootKeys.listKeys": page,
  });
});

test("[protocol §4] every id in an answer has the prefix, the letters and the bounds of its kind", () => {
  const idOf = (prefix: string) =>
    expect.objectContaining({ minLength: prefix.length + 16, maxLength: 255, pattern: `^${prefix}[a-zA-Z0-9]+$` });
  const property = (schema: string, name: string): unknown => schemas[schema]?.properties?.[name];
  expect(property("Meta", "requestId")).toEqual(idOf("req_"));
  expect(property("CreateKeyData", "keyId")).toEqual(idOf("key_"));
  expect(property("VerifyKeyData", "keyspaceId")).toEqual(idOf("api_"));
  expect(property("RootKey", "keyId")).toEqual(idOf("rk_"));
  expect(property("LimitData", "overrideId")).toEqual(idOf("rlor_"));
  expect(property("AuditLog", "correlationId")).toEqual(idOf("cor_"));
  // The id of a limit that only the call names is empty.
  expect(property("VerifiedRatelimit", "id")).not.toHaveProperty("pattern");
});
