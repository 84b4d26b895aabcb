import { type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { GetVerificationsRequestSchema } from "../../../gen/latchkey/v2/analytics_pb.ts";
import { CreateApiRequestSchema, ListKeysRequestSchema } from "../../../gen/latchkey/v2/apis_pb.ts";
import { RefillInterval } from "../../../gen/latchkey/v2/common_pb.ts";
import { CreateIdentityRequestSchema, UpdateIdentityRequestSchema } from "../../../gen/latchkey/v2/identities_pb.ts";
import {
  AddPermissionsRequestSchema,
  CreateKeyRequestSchema,
  MigrateKeysRequestSchema,
  RerollKeyRequestSchema,
  SetPermissionsRequestSchema,
  UpdateCreditsRequestSchema,
  UpdateKeyRequestSchema,
  VerifyKeyRequestSchema,
} from "../../../gen/latchkey/v2/keys_pb.ts";
import { SetRolePermissionsRequestSchema } from "../../../gen/latchkey/v2/permissions_pb.ts";
import { LimitRequestSchema, MultiLimitRequestSchema } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import { compileCodec } from "../../support/compileCodec.ts";

/** `location: message` of every violation of a JSON text. */
const problems = (schema: DescMessage, text: string): string[] =>
  compileCodec(schema)
    .decode(JSON.parse(text))
    .violations.map(({ location, message }) => `${location}: ${message}`);

const problemsOf = (schema: DescMessage, body: unknown): string[] => problems(schema, JSON.stringify(body));

const locations = (schema: DescMessage, body: unknown): string[] =>
  problemsOf(schema, body).map((line) => line.slice(0, line.indexOf(":")));

const accepts = <D extends DescMessage>(schema: D, body: unknown) => {
  const { message, violations } = compileCodec(schema).decode(JSON.parse(JSON.stringify(body)));
  expect(violations).toEqual([]);
  expect(fromBinary(schema, toBinary(schema, message), { recursionLimit: 10_000 })).toEqual(message);
  return message;
};

const key = { apiId: "api_1" };
const update = { keyId: "key_1" };

describe("the shape of the body", () => {
  test.each([
    ["null", "null"],
    ["[]", "array"],
    ['"x"', "string"],
    ["5", "number"],
    ["true", "boolean"],
  ])("[protocol §3] %s is not an object: one violation at body", (text, type) => {
    expect(problems(CreateApiRequestSchema, text)).toEqual([`body: got ${type}, want object`]);
  });

  test("[protocol §3] {} is valid where nothing is required", () => {
    accepts(ListKeysRequestSchema, { apiId: "a" });
    expect(problemsOf(CreateApiRequestSchema, {})).toEqual(["body.name: missing property 'name'"]);
  });

  test("[protocol §3] multiLimit takes a top-level array and places violations at its items", () => {
    const entry = { namespace: "n", identifier: "i", limit: 1, duration: 1000 };
    accepts(MultiLimitRequestSchema, [entry, entry]);
    expect(problemsOf(MultiLimitRequestSchema, entry)).toEqual(["body: got object, want array"]);
    expect(problemsOf(MultiLimitRequestSchema, [])).toEqual(["body: got 0, want at least 1"]);
    expect(problemsOf(MultiLimitRequestSchema, Array(101).fill(entry))).toEqual(["body: got 101, want at most 100"]);
    expect(problemsOf(MultiLimitRequestSchema, [entry, { ...entry, limit: 0, more: 1 }])).toEqual([
      "body[1].limit: got 0, want at least 1",
      "body[1].more: additional property 'more'",
    ]);
  });
});

describe("violations", () => {
  test.each<[string, DescMessage, unknown, string]>([
    ["too short", CreateApiRequestSchema, { name: "ab" }, "body.name: too short: got 2, want 3"],
    ["wrong type", CreateKeyRequestSchema, { ...key, enabled: "yes" }, "body.enabled: got string, want boolean"],
    ["null where not allowed", UpdateKeyRequestSchema, { ...update, enabled: null }, "body.enabled: got null, want boolean"],
    ["missing top-level field", UpdateKeyRequestSchema, {}, "body.keyId: missing property 'keyId'"],
    ["unknown top-level field", UpdateKeyRequestSchema, { ...update, foo: 1 }, "body.foo: additional property 'foo'"],
    [
      "nested field, second item",
      CreateKeyRequestSchema,
      {
        ...key,
        ratelimits: [
          { name: "abc", limit: 1, duration: 1000 },
          { name: "abd", limit: 0, duration: 1000 },
        ],
      },
      "body.ratelimits[1].limit: got 0, want at least 1",
    ],
    [
      "field missing in an item",
      UpdateKeyRequestSchema,
      { ...update, ratelimits: [{ name: "abc", duration: 1000 }] },
      "body.ratelimits[0].limit: missing property 'limit'",
    ],
    [
      "item of a text array",
      UpdateKeyRequestSchema,
      { ...update, permissions: ["documents.read", "documents read"] },
      "body.permissions[1]: does not match the pattern ^[a-zA-Z0-9_:\\-\\.\\*]+$",
    ],
    ["too many items", CreateKeyRequestSchema, { ...key, roles: Array(101).fill("r") }, "body.roles: got 101, want at most 100"],
    [
      "unknown field in a nested object",
      CreateKeyRequestSchema,
      { ...key, credits: { remaining: 1, extra: 1 } },
      "body.credits.extra: additional property 'extra'",
    ],
    [
      "deep field",
      UpdateKeyRequestSchema,
      { ...update, credits: { refill: { interval: "daily", amount: 0 } } },
      "body.credits.refill.amount: got 0, want at least 1",
    ],
    ["enumeration", UpdateCreditsRequestSchema, { ...update, operation: "SET" }, "body.operation: want one of set, increment, decrement"],
    [
      "in an imported key",
      MigrateKeysRequestSchema,
      { migrationId: "mig", apiId: "api", keys: [{}] },
      "body.keys[0].hash: missing property 'hash'",
    ],
  ])("[protocol §6] %s", (_, schema, body, want) => {
    expect(problemsOf(schema, body)).toEqual([want]);
  });

  test("[protocol §6] all violations of a body are reported at once", () => {
    const body = {
      name: "",
      byteLength: 15,
      enabled: "yes",
      foo: 1,
      credits: { refill: { interval: "Daily" } },
      ratelimits: [{ limit: 1.5 }, 7],
    };
    expect(locations(CreateKeyRequestSchema, body)).toEqual([
      "body.name",
      "body.byteLength",
      "body.enabled",
      "body.foo",
      "body.credits.refill.interval",
      "body.credits.refill.amount",
      "body.credits.remaining",
      "body.ratelimits[0].limit",
      "body.ratelimits[0].name",
      "body.ratelimits[0].duration",
      "body.ratelimits[1]",
      "body.apiId",
    ]);
  });

  test("[protocol §6] fix is a text or absent", () => {
    const { violations } = compileCodec(CreateKeyRequestSchema).decode({ byteLength: "16" });
    expect(violations).toEqual([
      { location: "body.byteLength", message: "got string, want integer", fix: "send an integer, without quotes" },
      { location: "body.apiId", message: "missing property 'apiId'" },
    ]);
  });

  test("[protocol §6] a body of nonsense does not make a far larger answer", () => {
    const body = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`${"x".repeat(1000)}${index}`, 1]));
    const { violations } = compileCodec(CreateApiRequestSchema).decode(body);
    expect(violations).toHaveLength(1000);
    expect(violations[0]?.location.length).toBeLessThan(200);
  });
});

describe("fields", () => {
  test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])("[protocol §3] %s is an ordinary unknown field", (name) => {
    expect(problems(CreateApiRequestSchema, `{"name":"abc","${name}":{}}`)).toEqual([`body.${name}: additional property '${name}'`]);
  });

  test.each([
    ["a root key", "lkr_0VkX9aQmZ3tLw7RyBn5cJd2Hf8GsPeUi4oTA1b", "lkr_0VkX…"],
    ["a key with a prefix", "prod_eu_4kQz8WvXc2NmLpRt7YbHd3", "prod_eu_4kQz…"],
    ["a key without digits", "kQzWvXcNmLpRtYbHdJfGsAeUiOkQzWvXcNmL", "kQzW…"],
    ["a key behind a long text", `${"a.".repeat(45)}4kQz8WvXc2NmLpRt7YbHd3`, `${"a.".repeat(45)}4kQz…`],
  ])("[protocol §5] %s instead of a name is not repeated", (_, name, shown) => {
    expect(problems(CreateApiRequestSchema, JSON.stringify({ name: "abc", [name]: 1 }))).toEqual([
      `body.${shown}: additional property '${shown}'`,
    ]);
  });

  test("[protocol §6] long names of fields are repeated whole", () => {
    const name = "requiredPermissionsOfTheCaller_2";
    expect(problems(CreateApiRequestSchema, JSON.stringify({ name: "abc", [name]: 1 }))).toEqual([
      `body.${name}: additional property '${name}'`,
    ]);
  });

  test("[protocol §3] a required field is not satisfied by inheritance", () => {
    expect(problems(CreateApiRequestSchema, '{"__proto__":{"name":"inherited"}}')).toEqual([
      "body.__proto__: additional property '__proto__'",
      "body.name: missing property 'name'",
    ]);
  });

  test("[protocol §3] names are case-sensitive, and the Protobuf spelling is not accepted", () => {
    expect(locations(UpdateKeyRequestSchema, { key_id: "key_1", KeyId: "key_1" })).toEqual(["body.key_id", "body.KeyId", "body.keyId"]);
  });

  test("[protocol §3] unknown fields are ignored in items of ratelimits", () => {
    const limit = { id: "rl_1", name: "abc", limit: 1, duration: 1000, autoApply: true };
    for (const schema of [CreateKeyRequestSchema, MigrateKeysRequestSchema]) {
      const body =
        schema === CreateKeyRequestSchema
          ? { ...key, ratelimits: [limit] }
          : { migrationId: "mig", apiId: "api", keys: [{ hash: "abc", ratelimits: [limit] }] };
      expect(problemsOf(schema, body)).toEqual([]);
    }
    accepts(UpdateKeyRequestSchema, { ...update, ratelimits: [limit] });
    accepts(UpdateIdentityRequestSchema, { identity: "i", ratelimits: [limit] });
    accepts(VerifyKeyRequestSchema, { key: "k", ratelimits: [{ name: "abc", extra: 1 }] });
  });

  test("[protocol §3] unknown fields are ignored at createIdentity's top level and in analytics", () => {
    accepts(CreateIdentityRequestSchema, { externalId: "a", extra: 1 });
    accepts(GetVerificationsRequestSchema, { query: "", extra: 1 });
  });

  test("[protocol §3] unknown fields are refused in credits, refill and imported keys", () => {
    expect(locations(VerifyKeyRequestSchema, { key: "k", apiId: "a", credits: { cost: 1, x: 1 } })).toEqual([
      "body.apiId",
      "body.credits.x",
    ]);
    expect(locations(MigrateKeysRequestSchema, { migrationId: "mig", apiId: "api", keys: [{ hash: "abc", key: "k" }] })).toEqual([
      "body.keys[0].key",
    ]);
  });
});

describe("values", () => {
  test.each([['"true"'], ["1"], ["0"], ["null"], ["[]"], ["{}"]])("[protocol §3] %s is not a boolean", (text) => {
    expect(problems(CreateKeyRequestSchema, `{"apiId":"api","enabled":${text}}`)).toHaveLength(1);
  });

  test.each([["5"], ["5.0"], ["0.5e1"], ["5e0"], ["50E-1"]])("[protocol §4] %s is an integer", (text) => {
    const { message, violations } = compileCodec(LimitRequestSchema).decode(
      JSON.parse(`{"namespace":"n","identifier":"i","limit":${text},"duration":1e3}`),
    );
    expect(violations).toEqual([]);
    expect(message).toMatchObject({ limit: 5n, duration: 1000n });
  });

  test.each([
    ["1.5", "got 1.5, want integer"],
    ['"5"', "got string, want integer"],
    ["true", "got boolean, want integer"],
    ["null", "got null, want integer"],
    ["1e400", "too large for a number"],
    ["-1e400", "too large for a number"],
    ["-1", "got -1, want at least 1"],
    ["9007199254740992", "too large, want at most 9007199254740991"],
    ["9007199254740993", "too large, want at most 9007199254740991"],
    ["9223372036854775808", "too large, want at most 9007199254740991"],
    ["-9007199254740993", "too small, want at least 1"],
  ])("[protocol §4] %s is refused as an integer", (text, message) => {
    expect(problems(LimitRequestSchema, `{"namespace":"n","identifier":"i","limit":${text},"duration":1000}`)).toEqual([
      `body.limit: ${message}`,
    ]);
  });

  test("[protocol §4] the largest integer is 2^53-1", () => {
    expect(accepts(LimitRequestSchema, { namespace: "n", identifier: "i", limit: Number.MAX_SAFE_INTEGER, duration: 1000 }).limit).toBe(
      9007199254740991n,
    );
  });

  test.each([
    ["daily", RefillInterval.DAILY],
    ["DAILY", RefillInterval.DAILY],
  ])("[protocol §4] the refill interval %s is accepted", (interval, value) => {
    expect(
      accepts(CreateKeyRequestSchema, { ...key, credits: { remaining: 1, refill: { interval, amount: 1 } } }).credits?.refill?.interval,
    ).toBe(value);
  });

  test.each(["monthly", "MONTHLY"])("[protocol §4] the refill interval %s is accepted", (interval) => {
    accepts(CreateKeyRequestSchema, { ...key, credits: { remaining: 1, refill: { interval, amount: 1, refillDay: 31 } } });
  });

  test.each(["Daily", "dAILY", "weekly", "", "REFILL_INTERVAL_DAILY", 1, null])(
    "[protocol §4] the refill interval %j is refused",
    (interval) => {
      expect(locations(CreateKeyRequestSchema, { ...key, credits: { remaining: 1, refill: { interval, amount: 1 } } })).toEqual([
        "body.credits.refill.interval",
      ]);
    },
  );

  test("[protocol §3] lengths count code points, not UTF-16 units", () => {
    accepts(CreateApiRequestSchema, { name: "😀😀😀" });
    accepts(CreateApiRequestSchema, { name: "😀".repeat(256) });
    expect(problemsOf(CreateApiRequestSchema, { name: "😀😀" })).toEqual(["body.name: too short: got 2, want 3"]);
    expect(problemsOf(CreateApiRequestSchema, { name: "😀".repeat(257) })).toEqual(["body.name: too long: got 257, want at most 256"]);
  });

  test("[protocol §3] patterns are anchored on the whole text: a trailing newline does not match", () => {
    expect(locations(UpdateKeyRequestSchema, { keyId: "key_1\n" })).toEqual(["body.keyId"]);
    expect(locations(CreateIdentityRequestSchema, { externalId: "a\n" })).toEqual(["body.externalId"]);
  });

  test("[protocol §3] U+0000 is text, a lone surrogate is a violation", () => {
    expect(accepts(CreateApiRequestSchema, { name: "a\u0000b" }).name).toBe("a\u0000b");
    expect(locations(CreateApiRequestSchema, { name: "ab\ud800" })).toEqual(["body.name"]);
    expect(locations(VerifyKeyRequestSchema, { key: "\udc00k", tags: ["\ud800"] })).toEqual(["body.key", "body.tags[0]"]);
  });

  test("[keys §2] a list that must not be omitted may be empty, one with a minimum may not", () => {
    expect(accepts(SetPermissionsRequestSchema, { keyId: "key", permissions: [] }).permissions?.values).toEqual([]);
    expect(problemsOf(SetPermissionsRequestSchema, { keyId: "key" })).toEqual(["body.permissions: missing property 'permissions'"]);
    expect(problemsOf(AddPermissionsRequestSchema, { keyId: "key", permissions: [] })).toEqual([
      "body.permissions: got 0, want at least 1",
    ]);
    expect(problemsOf(AddPermissionsRequestSchema, { keyId: "key" })).toEqual(["body.permissions: missing property 'permissions'"]);
    expect(problemsOf(VerifyKeyRequestSchema, { key: "k", keyspaces: [] })).toEqual(["body.keyspaces: got 0, want at least 1"]);
  });
});

describe("omitted, null and a value", () => {
  test("[keys §3] omitted fields are unset", () => {
    const message = accepts(UpdateKeyRequestSchema, update);
    expect(message).toEqual({ $typeName: "latchkey.v2.UpdateKeyRequest", keyId: "key_1" });
  });

  test("[keys §3] null is distinguished from omission", () => {
    const message = accepts(UpdateKeyRequestSchema, {
      ...update,
      name: null,
      externalId: null,
      meta: null,
      expires: null,
      credits: null,
      ratelimits: null,
    });
    for (const field of [message.name, message.externalId, message.meta, message.expires, message.credits, message.ratelimits]) {
      expect(field?.kind).toEqual({ case: "null", value: 0 });
    }
  });

  test("[keys §3] values inside nullables keep their bounds", () => {
    expect(
      locations(UpdateKeyRequestSchema, {
        ...update,
        name: "",
        externalId: "a b",
        meta: 5,
        expires: -1,
        credits: { remaining: -1, refill: {} },
        roles: null,
      }),
    ).toEqual([
      "body.name",
      "body.externalId",
      "body.meta",
      "body.expires",
      "body.credits.remaining",
      "body.credits.refill.interval",
      "body.credits.refill.amount",
      "body.roles",
    ]);
  });

  test("[keys §3] empty values are values", () => {
    const message = accepts(UpdateKeyRequestSchema, {
      ...update,
      meta: {},
      expires: 0,
      credits: {},
      ratelimits: [],
      roles: [],
      permissions: [],
    });
    expect(message.meta?.kind).toEqual({ case: "value", value: {} });
    expect(message.expires?.kind).toEqual({ case: "value", value: 0n });
    expect(message.ratelimits?.kind.case === "value" && message.ratelimits.kind.value.values).toEqual([]);
    expect(message.roles?.values).toEqual([]);
  });

  test("[keys §6] expiration is required and may be null", () => {
    accepts(RerollKeyRequestSchema, { ...update, expiration: null });
    accepts(RerollKeyRequestSchema, { ...update, expiration: 0 });
    expect(locations(RerollKeyRequestSchema, update)).toEqual(["body.expiration"]);
  });
});

describe("rules over several fields", () => {
  const refill = (credits: unknown) => locations(CreateKeyRequestSchema, { ...key, credits });

  test("[keys §2] refillDay only and always with monthly", () => {
    expect(refill({ remaining: 1, refill: { interval: "daily", amount: 1, refillDay: 5 } })).toEqual(["body.credits.refill.refillDay"]);
    expect(refill({ remaining: 1, refill: { interval: "monthly", amount: 1 } })).toEqual(["body.credits.refill.refillDay"]);
  });

  test("[keys §2] a place that is already wrong is not reported twice", () => {
    expect(refill({ remaining: 1, refill: { interval: "monthly", amount: 1, refillDay: 32 } })).toEqual(["body.credits.refill.refillDay"]);
    expect(locations(UpdateCreditsRequestSchema, { ...update, operation: "increment", value: "5" })).toEqual(["body.value"]);
  });

  test("[keys §2, §3] a refill needs a finite balance; the message names credits.remaining", () => {
    const credits = { remaining: null, refill: { interval: "daily", amount: 1 } };
    for (const [schema, body] of [
      [CreateKeyRequestSchema, { ...key, credits }],
      [UpdateKeyRequestSchema, { ...update, credits }],
    ] as const) {
      expect(problemsOf(schema, body)).toEqual([expect.stringMatching(/^body\.credits\.remaining: .*credits\.remaining/)]);
    }
    accepts(UpdateKeyRequestSchema, { ...update, credits: { remaining: null, refill: null } });
    accepts(UpdateKeyRequestSchema, { ...update, credits: { refill: { interval: "daily", amount: 1 } } });
  });

  test("[keys §7] the same rules hold for imported keys", () => {
    const keys = [{ hash: "abc", credits: { remaining: null, refill: { interval: "monthly", amount: 1 } } }];
    expect(locations(MigrateKeysRequestSchema, { migrationId: "mig", apiId: "api", keys })).toEqual([
      "body.keys[0].credits.refill.refillDay",
      "body.keys[0].credits.remaining",
    ]);
  });

  test("[keys §9] increment and decrement need a number", () => {
    for (const operation of ["increment", "decrement"]) {
      expect(locations(UpdateCreditsRequestSchema, { ...update, operation })).toEqual(["body.value"]);
      expect(locations(UpdateCreditsRequestSchema, { ...update, operation, value: null })).toEqual(["body.value"]);
      accepts(UpdateCreditsRequestSchema, { ...update, operation, value: 0 });
    }
    accepts(UpdateCreditsRequestSchema, { ...update, operation: "set" });
    accepts(UpdateCreditsRequestSchema, { ...update, operation: "set", value: null });
  });

  test("[identities] a rate limit name given twice is refused with its name", () => {
    const limit = { name: "requests", limit: 1, duration: 1000 };
    for (const [schema, body] of [
      [CreateIdentityRequestSchema, { externalId: "a", ratelimits: [limit, limit] }],
      [UpdateIdentityRequestSchema, { identity: "a", ratelimits: [limit, limit] }],
    ] as const) {
      expect(problemsOf(schema, body)).toEqual(["body.ratelimits[1].name: 'requests' is given more than once"]);
    }
    accepts(CreateKeyRequestSchema, { ...key, ratelimits: [limit, limit] });
  });

  test("[permissions §10] exactly one of role and roleId", () => {
    expect(locations(SetRolePermissionsRequestSchema, { permissions: [] })).toEqual(["body.role"]);
    expect(locations(SetRolePermissionsRequestSchema, { role: "a", roleId: "abc", permissions: [] })).toEqual(["body.role"]);
    accepts(SetRolePermissionsRequestSchema, { role: "a", permissions: [] });
    accepts(SetRolePermissionsRequestSchema, { roleId: "abc", permissions: [] });
  });
});

describe("meta", () => {
  const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
  const withMeta = (meta: string): string[] => problems(CreateKeyRequestSchema, `{"apiId":"api","meta":${meta}}`);

  test("[protocol §3] any property names come through, __proto__ included", () => {
    const text = '{"__proto__":{"x":1},"constructor":null,"a.b":[1,{"$set":true}],"":"","toJSON":"x","\\ud800":"\\udfff"}';
    const { message, violations } = compileCodec(CreateKeyRequestSchema).decode(JSON.parse(`{"apiId":"api","meta":${text}}`));
    expect(violations).toEqual([]);
    expect(JSON.stringify(message.meta)).toBe(text);
  });

  test("[protocol §3] 1000 levels are accepted, more are refused without an overflow", () => {
    expect(withMeta(nested(1000))).toEqual([]);
    expect(withMeta(nested(1001))).toEqual(["body.meta: is nested more than 1000 levels deep"]);
    expect(withMeta(`{"a":[${nested(998)},${nested(998)}],"b":${nested(999)},"c":[]}`)).toEqual([]);
    expect(withMeta(`{"a":[${nested(998)},${nested(999)}]}`)).toEqual(["body.meta: is nested more than 1000 levels deep"]);
    expect(withMeta(`{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`)).toHaveLength(1);
  });

  test("[protocol §4] a number that overflows a double is refused", () => {
    expect(withMeta('{"a":[{"b":-1e999}]}')).toEqual(["body.meta: holds a number that is too large for a double"]);
  });

  test.each(["null", "[]", '"x"', "1"])("[protocol §6] %s is not an object", (text) => {
    expect(withMeta(text)).toHaveLength(1);
  });

  test("[keys §1.6] 64 KiB of compact JSON in UTF-8, and any number of properties", () => {
    const fits = { a: "é".repeat((65_536 - '{"a":""}'.length) / 2) };
    accepts(CreateKeyRequestSchema, { ...key, meta: fits });
    expect(problemsOf(CreateKeyRequestSchema, { ...key, meta: { a: `${fits.a}x` } })).toEqual([
      "body.meta: too large: got 65537 bytes of JSON, want at most 65536",
    ]);
    accepts(CreateKeyRequestSchema, { ...key, meta: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [index, 1])) });
  });

  test("[identities] 1048576 bytes and 100 top-level properties", () => {
    const fits = { a: "x".repeat(1_048_576 - '{"a":""}'.length) };
    accepts(CreateIdentityRequestSchema, { externalId: "a", meta: fits });
    expect(locations(UpdateIdentityRequestSchema, { identity: "a", meta: { a: `${fits.a}x` } })).toEqual(["body.meta"]);
    const properties = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [index, { nested: true }]));
    accepts(CreateIdentityRequestSchema, { externalId: "a", meta: properties(100) });
    expect(problemsOf(CreateIdentityRequestSchema, { externalId: "a", meta: properties(101) })).toEqual([
      "body.meta: got 101 properties, want at most 100",
    ]);
  });
});
