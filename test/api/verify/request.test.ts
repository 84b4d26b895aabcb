// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";

const MONTH = 2_592_000_000;
const text = (length: number, character = "x"): string => character.repeat(length);
type Fields = Readonly<Record<string, unknown>>;
const limit = (fields: Fields): Fields => ({ ratelimits: [{ name: "requests", limit: 1, duration: 1_000, ...fields }] });

/** Fields sent in addition to the key, and the location of the violation. */
const refused: readonly (readonly [what: string, fields: Fields, location: string])[] = [
  ["an empty key", { key: "" }, "body.key"],
  ["a key of 513 characters", { key: text(513) }, "body.key"],
  ["a key that is no string", { key: 5 }, "body.key"],
  ["a key with a lone surrogate", { key: "a\ud800" }, "body.key"],
  ["no key", { key: undefined }, "body.key"],
  ["an unknown field", { apiId: "api_1" }, "body.apiId"],
  ["21 tags", { tags: Array(21).fill("a") }, "body.tags"],
  ["an empty tag", { tags: ["a", ""] }, "body.tags[1]"],
  ["a tag of 513 characters", { tags: [text(513)] }, "body.tags[0]"],
  ["a tag that is no string", { tags: [1] }, "body.tags[0]"],
  ["an empty permission query", { permissions: "" }, "body.permissions"],
  ["a permission query of 1001 characters", { permissions: text(1001) }, "body.permissions"],
  ["a list of permissions", { permissions: ["a"] }, "body.permissions"],
  ["empty credits", { credits: {} }, "body.credits.cost"],
  ["an unknown field in credits", { credits: { cost: 1, remaining: 1 } }, "body.credits.remaining"],
  ["a negative cost", { credits: { cost: -1 } }, "body.credits.cost"],
  ["a cost above 1 000 000 000 000", { credits: { cost: 1_000_000_000_001 } }, "body.credits.cost"],
  ["a fractional cost", { credits: { cost: 1.5 } }, "body.credits.cost"],
  ["a cost in quotes", { credits: { cost: "5" } }, "body.credits.cost"],
  ["51 rate limits", { ratelimits: Array.from({ length: 51 }, (_, i) => ({ name: `limit${i}` })) }, "body.ratelimits"],
  ["a rate limit without a name", { ratelimits: [{ cost: 1 }] }, "body.ratelimits[0].name"],
  ["a rate limit's name of 2 characters", { ratelimits: [{ name: "ab" }] }, "body.ratelimits[0].name"],
  ["a rate limit's name of 256 characters", { ratelimits: [{ name: text(256) }] }, "body.ratelimits[0].name"],
  ["a rate limit's negative cost", limit({ cost: -1 }), "body.ratelimits[0].cost"],
  ["a limit of 0, which must not switch limiting off", limit({ limit: 0 }), "body.ratelimits[0].limit"],
  ["a duration below 1000, which must not switch limiting off", limit({ duration: 999 }), "body.ratelimits[0].duration"],
  ["a duration of 0", limit({ duration: 0 }), "body.ratelimits[0].duration"],
  ["a limit above 2^53-1", limit({ limit: 9_007_199_254_740_992 }), "body.ratelimits[0].limit"],
  ["a fractional limit", limit({ limit: 1.5 }), "body.ratelimits[0].limit"],
  ["a migrationId of 257 characters", { migrationId: text(257) }, "body.migrationId"],
  ["no keyspace", { keyspaces: [] }, "body.keyspaces"],
  ["101 keyspaces", { keyspaces: Array(101).fill("api_1") }, "body.keyspaces"],
  ["an empty keyspace", { keyspaces: [""] }, "body.keyspaces[0]"],
  ["a keyspace of 256 characters", { keyspaces: [text(256)] }, "body.keyspaces[0]"],
  ...["key", "tags", "permissions", "credits", "ratelimits", "migrationId", "keyspaces"].map(
    (field) => [`null for ${field}`, { [field]: null }, `body.${field}`] as const,
  ),
  ["null for a rate limit's cost", limit({ cost: null }), "body.ratelimits[0].cost"],
  ["null for a rate limit's limit", limit({ limit: null }), "body.ratelimits[0].limit"],
];

const accepted: readonly (readonly [what: string, fields: Fields])[] = [
  ["20 tags of 512 characters, any characters, repeated", { tags: Array(20).fill(text(512, "\u{1F511}")) }],
  ["an empty list of tags", { tags: [] }],
  ["an empty list of rate limits", { ratelimits: [] }],
  ["a permission query of 1000 characters", { permissions: `held OR ${text(992)}` }],
  ["cost 0", { credits: { cost: 0 } }],
  ["cost 5.0", { credits: { cost: 5.0 } }],
  ["the largest cost", { credits: { cost: 1_000_000_000_000 } }],
  ["names of 3 and of 255 characters", { ratelimits: [3, 255].map((length) => ({ name: text(length), limit: 1, duration: 1_000 })) }],
  ["unknown fields in a rate limit", limit({ id: "rl_1", autoApply: true, whatever: null })],
  ["any key of 512 characters", { key: text(512, "\u{1F511}") }],
  ["a key with a NUL", { key: "a\u0000b" }],
  ["a migrationId, which a known key does not need", { migrationId: text(256) }],
];

// Only JSON can hold what the field's type does not allow.
everywhere(
  (run: Run) => {
    describe("the request", () => {
      test.each(refused)("[verify §2] %s is 400 at its place and consumes nothing", async (_, fields, location) => {
        const { key } = await run.createKey({
          credits: { remaining: 1 },
          ratelimits: [{ name: "once", limit: 1, duration: MONTH, autoApply: true }],
        });
        const error = expectError(await run.call("keys.verifyKey", { key, ...fields }), 400, "unkey/application/invalid_input");
        expect(error.errors?.map((each) => each.location)).toEqual([location]);
        expect((await run.verify(key)).code).toBe("VALID");
      });

      test.each(accepted)("[verify §2] %s is accepted", async (_, fields) => {
        const { key } = await run.createKey({ permissions: ["held"] });
        const wanted = "key" in fields ? "NOT_FOUND" : "VALID";
        expect((await run.verify(key, fields)).code).toBe(wanted);
      });

      test("[verify §7] authentication comes before the body, and the body before the key", async () => {
        expectError(await run.call("keys.verifyKey", { wrong: true }, "lkr_wrong"), 401, "unkey/authentication/key_not_found");
        const weak = await run.api.createRootKey({ permissions: [] });
        expectError(await run.call("keys.verifyKey", { wrong: true }, weak), 400, "unkey/application/invalid_input");
        expectError(await run.call("keys.verifyKey", { key: "k", permissions: "AND" }, weak), 400, "permissions_query_syntax_error");
        expectError(await run.call("keys.verifyKey", { key: "k" }, weak), 403, "unkey/authorization/insufficient_permissions");
      });
    });
  },
  ["v2"],
);

const malformed = [
  " ",
  "\t\r\n",
  "a AND",
  "a OR",
  "AND a",
  "or a",
  "a AND AND b",
  "a OR AND b",
  "a b",
  "a (b)",
  "(a) b",
  "NOT a",
  "()",
  "(",
  ")",
  "(a",
  "a)",
  "((a)",
  "a AND (b OR c",
  "a @ b",
  "a & b",
  "a, b",
  '"a"',
  "a!",
  "a|b",
  "ä",
  "a\u0000 AND b",
  "a\u00a0AND b",
];

everywhere((run: Run) => {
  describe("the permission query", () => {
    test("[verify §4] a malformed query is 400 saying where, also for unknown, disabled and expired keys, and consumes nothing", async () => {
      const { key } = await run.createKey({ credits: { remaining: 1 } });
      const disabled = await run.createKey({ enabled: false, expires: 0 });
      for (const permissions of malformed) {
        for (const presented of [key, disabled.key, "unknown"]) {
          const answer = await run.call("keys.verifyKey", { key: presented, permissions });
          const error = expectError(answer, 400, "user/bad_request/permissions_query_syntax_error");
          expect(error.errors?.map(({ location }) => location)).toEqual(["body.permissions"]);
          expect(error.detail, permissions).toMatch(/position \d+/);
        }
      }
      expect((await run.verify(key)).code).toBe("VALID");
    });

    test("[verify §4] AND binds tighter than OR, operators in any case, white space only separates", async () => {
      const { key } = await run.createKey({ permissions: ["aaa", "bbb", "ANDROID.x", "a.and", "or-1"] });
      const codes: Record<string, string> = {};
      const wanted: Record<string, string> = {
        aaa: "VALID",
        AAA: "INSUFFICIENT_PERMISSIONS",
        "aaa AND bbb": "VALID",
        "aaa and no": "INSUFFICIENT_PERMISSIONS",
        "no Or bbb": "VALID",
        "aaa OR no AND no": "VALID",
        "(aaa OR no) AND no": "INSUFFICIENT_PERMISSIONS",
        "no AND no OR bbb": "VALID",
        "(aaa)AND(bbb)": "VALID",
        "\n((aaa\t))\r": "VALID",
        "ANDROID.x AND a.and AND or-1": "VALID",
        "a/b": "INSUFFICIENT_PERMISSIONS",
      };
      for (const permissions of Object.keys(wanted)) codes[permissions] = (await run.verify(key, { permissions })).code as string;
      expect(codes).toEqual(wanted);
    });

    test("[verify §4] a granted wildcard covers what is below it, directly or through a role, and a * elsewhere is literal", async () => {
      const role = run.unique("role");
      await run.data("permissions.createRole", { name: role, permissions: ["by_role.*"] });
      const { key } = await run.createKey({ roles: [role], permissions: ["documents.*", "colon:*", "a.*.read", "doc*"] });
      const codes: Record<string, string> = {};
      const wanted: Record<string, string> = {
        "documents.read": "VALID",
        "documents.a.b": "VALID",
        "documents.*": "VALID",
        "documents.a.*": "VALID",
        documents: "INSUFFICIENT_PERMISSIONS",
        "documents.": "INSUFFICIENT_PERMISSIONS",
        "documentsx.read": "INSUFFICIENT_PERMISSIONS",
        "documents:read": "INSUFFICIENT_PERMISSIONS",
        "colon:read": "VALID",
        "colon.read": "INSUFFICIENT_PERMISSIONS",
        "a.*.read": "VALID",
        "a.b.read": "INSUFFICIENT_PERMISSIONS",
        "doc*": "VALID",
        docs: "INSUFFICIENT_PERMISSIONS",
        "by_role.read": "VALID",
      };
      for (const permissions of Object.keys(wanted)) codes[permissions] = (await run.verify(key, { permissions })).code as string;
      expect(codes).toEqual(wanted);
    });

    test("[verify §4] a * in the query is literal: holding one permission below it is not enough", async () => {
      const { key } = await run.createKey({ permissions: ["reports.read"] });
      expect((await run.verify(key, { permissions: "reports.*" })).code).toBe("INSUFFICIENT_PERMISSIONS");
    });

    test("[verify §4] accepts all terms and all nesting that fit into 1000 characters", async () => {
      const { key } = await run.createKey({ permissions: ["zzz"] });
      const deep = `${text(498, "(")}zzz${text(498, ")")}`;
      expect((await run.verify(key, { permissions: deep })).code).toBe("VALID");
      const wide = `${"a OR ".repeat(199)}zzz`;
      expect((await run.verify(key, { permissions: wide })).code).toBe("VALID");
    });
  });
});
