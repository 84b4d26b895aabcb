// @same-on-every-engine
import { expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { everythingIn } from "../../support/written.ts";

const limit = { name: "requests", limit: 10, duration: 60_000 };

const tooMany = Array.from({ length: 51 }, (_, i) => ({ ...limit, name: `limit ${i}` }));

/** Bodies as only JSON can spell them: what a field must not be, and the place that the answer names. */
const malformed: readonly (readonly [procedure: string, body: object, location: string])[] = [
  ["createIdentity", {}, "body.externalId"],
  ["createIdentity", { externalId: null }, "body.externalId"],
  ["createIdentity", { externalId: 5 }, "body.externalId"],
  ["createIdentity", { externalId: "x", meta: null }, "body.meta"],
  ["createIdentity", { externalId: "x", meta: [] }, "body.meta"],
  ["createIdentity", { externalId: "x", ratelimits: null }, "body.ratelimits"],
  ["createIdentity", { externalId: "x", ratelimits: {} }, "body.ratelimits"],
  ["createIdentity", { externalId: "x", ratelimits: [null] }, "body.ratelimits[0]"],
  ["createIdentity", { externalId: "x", ratelimits: [{ limit: 1, duration: 1000 }] }, "body.ratelimits[0].name"],
  ["createIdentity", { externalId: "x", ratelimits: [{ name: "abc", duration: 1000 }] }, "body.ratelimits[0].limit"],
  ["createIdentity", { externalId: "x", ratelimits: [{ name: "abc", limit: 1 }] }, "body.ratelimits[0].duration"],
  ["createIdentity", { externalId: "x", ratelimits: [{ ...limit, limit: "10" }] }, "body.ratelimits[0].limit"],
  ["createIdentity", { externalId: "x", ratelimits: [{ ...limit, limit: 1.5 }] }, "body.ratelimits[0].limit"],
  ["createIdentity", { externalId: "x", ratelimits: [{ ...limit, autoApply: "yes" }] }, "body.ratelimits[0].autoApply"],
  ["createIdentity", { externalId: "x", ratelimits: [{ ...limit, autoApply: null }] }, "body.ratelimits[0].autoApply"],
  ["createIdentity", { externalId: "x", ratelimits: tooMany }, "body.ratelimits"],
  ["updateIdentity", { identity: "x", ratelimits: tooMany }, "body.ratelimits"],
  ["getIdentity", {}, "body.identity"],
  ["getIdentity", { identity: null }, "body.identity"],
  ["getIdentity", { identity: 1 }, "body.identity"],
  ["getIdentity", { identity: "x", extra: 1 }, "body.extra"],
  ["getIdentity", { externalId: "x" }, "body.externalId"],
  ["listIdentities", { limit: 0 }, "body.limit"],
  ["listIdentities", { limit: -1 }, "body.limit"],
  ["listIdentities", { limit: 101 }, "body.limit"],
  ["listIdentities", { limit: 1.5 }, "body.limit"],
  ["listIdentities", { limit: "10" }, "body.limit"],
  ["listIdentities", { limit: null }, "body.limit"],
  ["listIdentities", { cursor: null }, "body.cursor"],
  ["listIdentities", { cursor: 1 }, "body.cursor"],
  ["listIdentities", { search: null }, "body.search"],
  ["listIdentities", { search: " ".repeat(257) }, "body.search"],
  ["listIdentities", { extra: 1 }, "body.extra"],
  ["updateIdentity", {}, "body.identity"],
  ["updateIdentity", { identity: "x", meta: null }, "body.meta"],
  ["updateIdentity", { identity: "x", meta: "{}" }, "body.meta"],
  ["updateIdentity", { identity: "x", ratelimits: null }, "body.ratelimits"],
  ["updateIdentity", { identity: "x", externalId: "y" }, "body.externalId"],
  ["updateIdentity", { identity: "x", id: "y" }, "body.id"],
  ["deleteIdentity", {}, "body.identity"],
  ["deleteIdentity", { identity: null }, "body.identity"],
  ["deleteIdentity", { identity: "x", extra: 1 }, "body.extra"],
];

everywhere(
  (run) => {
    test.each(malformed)(
      "[identities %s] a malformed request (row %$) is 400, also for a caller without permissions, and writes nothing",
      async (name, body, location) => {
        const before = await everythingIn(run.api.store);
        for (const rootKey of [run.api.rootKey, await run.api.createRootKey({ permissions: ["api.*.read_api"] })]) {
          const error = expectError(await run.call(`identities.${name}`, body, rootKey), 400, "unkey/application/invalid_input");
          expect(error.errors?.map((entry) => entry.location)).toContain(location);
        }
        expect(await everythingIn(run.api.store)).toEqual(before);
      },
    );

    test("[identities, common] createIdentity's top level and the items of limits ignore unknown fields", async () => {
      const externalId = run.unique("lenient");
      const body = { externalId, environment: "live", __proto__x: 1, ratelimits: [{ ...limit, id: "rl_mine", environment: 1 }] };
      await run.data("identities.createIdentity", body);
      const { ratelimits } = await run.data("identities.getIdentity", { identity: externalId });
      expect(ratelimits).toEqual([{ ...limit, id: expect.not.stringMatching("rl_mine"), autoApply: false }]);
    });

    test("[identities updateIdentity] a schema violation is reported before 403, and 403 before 404", async () => {
      const weak = await run.api.createRootKey({ permissions: ["identity.*.read_identity"] });
      const twice = { identity: "unknown", ratelimits: [limit, limit] };
      expectError(await run.call("identities.updateIdentity", twice, weak), 400, "invalid_input");
      expectError(await run.call("identities.updateIdentity", twice), 400, "invalid_input");
      expectError(await run.call("identities.updateIdentity", { identity: "unknown" }, weak), 403, "insufficient_permissions");
      expectError(await run.call("identities.updateIdentity", { identity: "unknown" }), 404, "identity_not_found");
    });

    test("[identities deleteIdentity] a lone surrogate or U+0000 in identity is 404 or 400, never 5xx", async () => {
      for (const identity of ["\ud83d", "a\ud83d", "\udc00b", "\u0000"]) {
        for (const procedure of ["getIdentity", "updateIdentity", "deleteIdentity"])
          expect([400, 404]).toContain((await run.call(`identities.${procedure}`, { identity })).status);
        expect([200, 400]).toContain((await run.call("identities.listIdentities", { search: identity, cursor: identity })).status);
      }
    });
  },
  ["v2"],
);
