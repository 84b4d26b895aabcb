import type { JsonSchema } from "./jsonSchema.ts";

const isNull: JsonSchema = { type: "null" };
const gives = (name: string, ...values: readonly JsonSchema[]): JsonSchema => ({
  required: [name],
  ...(values[0] && { properties: { [name]: values[0] } }),
});

/** A name of its own, lest a linter takes the schema for a promise. */
const conclusionKeyword = "then";
const implies = (premise: JsonSchema, conclusion: JsonSchema): JsonSchema => ({ if: premise, [conclusionKeyword]: conclusion });

const exactlyOne = (...names: readonly string[]): JsonSchema => ({ oneOf: names.map((name) => gives(name)) });

const monthly = gives("interval", { enum: ["monthly", "MONTHLY"] });
const daily = gives("interval", { enum: ["daily", "DAILY"] });

const usageNames = {
  verifications: ["outcome", "apiId", "keyId", "identityId", "externalId", "tag"],
  ratelimits: ["namespaceId", "identifier", "passed"],
} as const;

/** What holds for each kind of events, by the names that its events have. */
const byKind = (schemaOf: (names: readonly string[]) => JsonSchema): JsonSchema => ({
  allOf: Object.entries(usageNames).map(([kind, names]) => implies(gives("kind", { const: kind }), schemaOf(names))),
});

const filterNames = byKind((names) => ({ properties: { filter: { propertyNames: { enum: names } } } }));

/** The rules over several fields by id, as far as JSON Schema can say them; undefined for those that only the description tells. */
const schemas: ReadonlyMap<string, JsonSchema | undefined> = new Map<string, JsonSchema | undefined>([
  ["refill.daily_has_no_day", implies(daily, { not: gives("refillDay") })],
  ["refill.monthly_needs_day", implies(monthly, gives("refillDay"))],
  ["create_key_credits.refill_needs_balance", implies(gives("remaining", isNull), { not: gives("refill") })],
  ["update_key_credits.refill_needs_balance", implies(gives("remaining", isNull), { properties: { refill: isNull } })],
  ["update_credits.needs_value", implies(gives("operation", { enum: ["increment", "decrement"] }), gives("value", { type: "integer" }))],
  ["get_usage.group_by", byKind((names) => ({ properties: { groupBy: { items: { enum: names } } } }))],
  ["get_usage.filter", filterNames],
  ["tail.filter", filterNames],
  ["explain.one_key", exactlyOne("keyId", "key")],
  ["set_role_permissions.one_role", exactlyOne("role", "roleId")],
  // JSON Schema compares neither properties of items with one another, nor two numbers, nor texts with addresses.
  ["create_identity.unique_ratelimit_names", undefined],
  ["update_identity.unique_ratelimit_names", undefined],
  ["get_usage.range", undefined],
  ["explain.remote_ip", undefined],
]);

/** Throws for a rule that nobody has thought about: a request must not be valid here and refused there unnoticed. */
export const crossRuleSchemas = (place: string, ids: readonly string[]): JsonSchema[] =>
  ids.flatMap((id) => {
    if (!schemas.has(id)) throw new Error(`${place}: crossRuleSchemas.ts does not say what the rule ${id} is in JSON Schema`);
    const schema = schemas.get(id);
    return schema === undefined ? [] : [schema];
  });
