import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { changeApiIn } from "../../support/changedApis.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

/** Names that a careless service would trim, normalise, refuse or trip over. */
const oddNames: readonly (readonly [string, string])[] = [
  ["of 3 characters", "abc"],
  ["of 3 astral characters", "😀😀😀"],
  ["of 256 characters", "n".repeat(256)],
  ["of 256 astral characters", "😀".repeat(256)],
  ["of blanks", "   "],
  ["with blanks around it", "  name\t\n"],
  ["in another script", "名前のないAPI"],
  ["in decomposed form", "re\u0301sume\u0301"],
  ["with U+0000 in it", "a\u0000b"],
  ["that looks like an operator", "$where"],
  ["that is a property of every object", "__proto__"],
  ["with markup and quotes", `<script>'"\\{}</script>`],
];

everywhere((run) => {
  describe("apis.createApi", () => {
    test("[apis createApi] a new API has an id of its own and can be used at once", async () => {
      const data = await run.data("apis.createApi", { name: "payments" });
      expect(data).toEqual({ apiId: expect.stringMatching(/^api_[a-zA-Z0-9]{16,251}$/) });
      const { apiId } = data;
      expect(await run.data("apis.getApi", { apiId })).toEqual({ id: apiId, name: "payments" });
      const { keyId, key } = await run.createKey({ apiId });
      expect(await run.verify(key)).toMatchObject({ valid: true, keyId, keyspaceId: apiId });
    });

    test.each(oddNames)("[apis createApi] a name %s comes back exactly as sent", async (_, name) => {
      const { apiId } = await run.data("apis.createApi", { name });
      expect(await run.data("apis.getApi", { apiId })).toEqual({ id: apiId, name });
    });

    test.each([
      ["empty", ""],
      ["of 2 characters", "ab"],
      ["of 2 astral characters, which are 4 UTF-16 units", "😀😀"],
      ["of 257 characters", "n".repeat(257)],
      ["of 257 astral characters", "😀".repeat(257)],
    ])("[apis createApi] a name %s is 400", async (_, name) => {
      const error = expectError(await run.call("apis.createApi", { name }), 400, "unkey/application/invalid_input");
      expect(error.errors?.map(({ location }) => location)).toEqual(["body.name"]);
    });

    test("[apis createApi] names are not unique, and free again at any time", async () => {
      const name = run.unique("same");
      const ids = await Promise.all([1, 2, 3].map(async () => (await run.data("apis.createApi", { name })).apiId));
      expect(new Set(ids).size).toBe(3);
      await run.data("apis.deleteApi", { apiId: ids[0] });
      expect(await run.data("apis.getApi", { apiId: ids[1] })).toEqual({ id: ids[1], name });
      expect((await run.data("apis.createApi", { name })).apiId).not.toBe(ids[0]);
    });

    test("[apis createApi] an API and its event are written together, a refused call writes neither", async () => {
      const caller = run.unique("auditor");
      const rootKey = await run.api.createRootKey({ name: caller, permissions: ["apis.*.create_api"] });
      const { apiId } = await run.data("apis.createApi", { name: "watched" }, rootKey);
      expectError(await run.call("apis.createApi", { name: "no" }, rootKey), 400, "application/invalid_input");
      const events = await eventsBy(run.api.store, caller);
      expect(events).toEqual([
        expect.objectContaining({
          event: "api.create",
          actor: { type: "rootkey", id: expect.stringMatching(/^rk_/), name: caller },
          resources: [{ type: "api", id: apiId, name: "watched" }],
          correlationId: expect.stringMatching(/^cor_/),
          remoteIp: "127.0.0.1",
        }),
      ]);
    });
  });

  describe("apis.getApi", () => {
    test("[apis getApi] an id of the right form that no API has ends in 404, whatever its prefix", async () => {
      for (const apiId of ["invalid_format_123", "api_00000000", "a".repeat(255), "__proto__", "________"]) {
        expectError(await run.call("apis.getApi", { apiId }), 404, "unkey/data/api_not_found");
      }
    });

    test("[apis getApi] ids are case-sensitive", async () => {
      const apiId = await run.createApi();
      const swapped = `api_${[...apiId.slice(4)].map((c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join("")}`;
      expectError(await run.call("apis.getApi", { apiId: swapped }), 404, "unkey/data/api_not_found");
    });

    test.each(["apis.getApi", "apis.deleteApi"])("[apis %s] an apiId outside its bounds is 400", async (procedure) => {
      for (const apiId of ["", "a".repeat(7), "a".repeat(256), "api-12345", "api.12345", "api_1234\n", "api_ 1234", "äpi_12345"]) {
        const error = expectError(await run.call(procedure, { apiId }), 400, "unkey/application/invalid_input");
        expect(error.errors?.[0]?.location, JSON.stringify(apiId)).toBe("body.apiId");
      }
      expectError(await run.call(procedure, { apiId: "a".repeat(8) }), 404, "unkey/data/api_not_found");
    });

    test("[apis getApi] a deleted API looks like one that never existed", async () => {
      const apiId = await run.createApi();
      await run.data("apis.deleteApi", { apiId });
      const [gone, never] = await Promise.all(
        [apiId, "api_neverexisted"].map(async (id) => expectError(await run.call("apis.getApi", { apiId: id }), 404, "api_not_found")),
      );
      expect(gone?.detail.replace(apiId, "ID")).toBe(never?.detail.replace("api_neverexisted", "ID"));
    });
  });

  describe("permissions", () => {
    const procedures: readonly (readonly [string, string])[] = [
      ["apis.getApi", "read_api"],
      ["apis.deleteApi", "delete_api"],
    ];

    test("[apis createApi] without api.*.create_api it is 403, which names it", async () => {
      const rootKey = await run.api.createRootKey({ permissions: ["api.*.read_api", "api.*.create_key", "rbac.*.create_role"] });
      const before = await everythingIn(run.api.store);
      const error = expectError(await run.call("apis.createApi", { name: "refused" }, rootKey), 403, "insufficient_permissions");
      expect(error.detail).toContain("api.*.create_api");
      expect(await everythingIn(run.api.store)).toEqual(before);
    });

    test.each(procedures)("[apis %s] a caller without %s gets the same 403 for existing and unknown ids", async (procedure, action) => {
      const [apiId, otherId] = [await run.createApi(), await run.createApi()];
      const unknown = `${apiId.slice(0, -1)}_`;
      const rootKey = await run.api.createRootKey({ permissions: [`api.${otherId}.${action}`, "api.*.create_api"] });
      const details = [];
      for (const id of [apiId, unknown]) {
        const { detail } = expectError(await run.call(procedure, { apiId: id }, rootKey), 403, "insufficient_permissions");
        expect(detail).toContain(`api.${id}.${action}`);
        expect(detail).toContain(`api.*.${action}`);
        expect(detail).not.toContain(otherId);
        details.push(detail.replaceAll(id, "ID"));
      }
      expect(details[0]).toBe(details[1]);
      expect(await run.data("apis.getApi", { apiId })).toHaveProperty("id", apiId);
    });

    test.each(procedures)("[apis %s] an invalid body is 400 even for a caller without %s", async (procedure) => {
      const rootKey = await run.api.createRootKey({ permissions: [] });
      expectError(await run.call(procedure, { apiId: "x" }, rootKey), 400, "application/invalid_input");
      expectError(await run.call("apis.createApi", { name: "x" }, rootKey), 400, "application/invalid_input");
    });

    test.each(procedures)("[apis %s] %s of one id is enough for it, and leads to 404 when it is gone", async (procedure, action) => {
      const apiId = await run.createApi();
      const rootKey = await run.api.createRootKey({ permissions: [`api.${apiId}.${action}`] });
      await run.data(procedure, { apiId }, rootKey);
      await run.call("apis.deleteApi", { apiId });
      expectError(await run.call(procedure, { apiId }, rootKey), 404, "unkey/data/api_not_found");
    });
  });

  describe("apis.deleteApi", () => {
    test("[apis deleteApi] the first call is 200, every later one 404", async () => {
      const apiId = await run.createApi();
      expect(await run.data("apis.deleteApi", { apiId })).toEqual({});
      for (const _ of [1, 2]) expectError(await run.call("apis.deleteApi", { apiId }), 404, "unkey/data/api_not_found");
    });

    test("[apis deleteApi] its keys become unreachable at once, also those verified just now", async () => {
      const { apiId, keyId, key } = await run.createKey({ externalId: "user_1" });
      expect(await run.verify(key)).toMatchObject({ valid: true });
      await run.data("apis.deleteApi", { apiId });
      expect(await run.verify(key)).toEqual({ valid: false, code: "NOT_FOUND" });
      for (const procedure of ["keys.getKey", "keys.updateKey", "keys.deleteKey"]) {
        expectError(await run.call(procedure, { keyId }), 404, "unkey/data/key_not_found");
      }
      expectError(await run.call("keys.createKey", { apiId }), 404, "unkey/data/api_not_found");
    });

    test("[apis deleteApi] keys of other APIs and shared identities are untouched", async () => {
      const externalId = run.unique("shared");
      const gone = await run.createKey({ externalId });
      const kept = await run.createKey({ externalId });
      const before = await run.getKey(kept.keyId);
      await run.data("apis.deleteApi", { apiId: gone.apiId });
      expect(await run.getKey(kept.keyId)).toEqual(before);
      expect(await run.verify(kept.key)).toMatchObject({ valid: true, identity: { externalId } });
    });

    test("[apis deleteApi] racing calls, also on two nodes: one is 200 and the others 404, with one event", async () => {
      const other = await run.other();
      const apiId = await run.createApi();
      const caller = run.unique("racer");
      const rootKey = await run.api.createRootKey({ name: caller });
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) => run.call("apis.deleteApi", { apiId }, rootKey, i % 2 ? other : run.api)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(404)]);
      expect(await eventsBy(run.api.store, caller)).toEqual([
        expect.objectContaining({ event: "api.delete", resources: [expect.objectContaining({ type: "api", id: apiId })] }),
      ]);
    });

    test("[apis deleteApi] a protected API is 412 after 403, keeps working, and can be deleted once that is lifted", async () => {
      const { apiId, key } = await run.createKey();
      expect(await changeApiIn(run.api.store, apiId, { deleteProtection: true })).toBe(true);
      const before = await everythingIn(run.api.store);
      expectError(await run.call("apis.deleteApi", { apiId }), 412, "unkey/application/protected_resource");
      const rootKey = await run.api.createRootKey({ permissions: ["api.*.read_api"] });
      expectError(await run.call("apis.deleteApi", { apiId }, rootKey), 403, "unkey/authorization/insufficient_permissions");
      expect(await everythingIn(run.api.store)).toEqual(before);
      const second = await run.createKey({ apiId });
      await run.data("keys.deleteKey", { keyId: second.keyId });
      expect(await run.verify(key)).toMatchObject({ valid: true });
      expect(await changeApiIn(run.api.store, apiId, { deleteProtection: false })).toBe(true);
      expect(await run.data("apis.deleteApi", { apiId })).toEqual({});
    });

    test("[apis deleteApi] protection that races a deletion either prevents it or finds nothing", async () => {
      const { apiId, key } = await run.createKey();
      const [answer, found] = await Promise.all([
        run.call("apis.deleteApi", { apiId }),
        changeApiIn(run.api.store, apiId, { deleteProtection: true }),
      ]);
      expect(answer.status).toBe(found ? 412 : 200);
      expect((await run.verify(key)).code).toBe(found ? "VALID" : "NOT_FOUND");
    });

    test("[protocol §7] another node stops verifying its keys, too", async () => {
      const other = await run.other();
      const { apiId, key } = await run.createKey();
      expect(await run.data("keys.verifyKey", { key }, undefined, other)).toMatchObject({ valid: true });
      await run.data("apis.deleteApi", { apiId });
      await expect
        .poll(async () => (await run.data("keys.verifyKey", { key }, undefined, other)).code, { timeout: 30_000 })
        .toBe("NOT_FOUND");
    });
  });
});

everywhere(
  (run) => {
    test.each([
      ["apis.createApi", { name: null }, "body.name"],
      ["apis.createApi", { name: 123 }, "body.name"],
      ["apis.createApi", {}, "body.name"],
      ["apis.createApi", { name: "fine", deleteProtection: true }, "body.deleteProtection"],
      ["apis.createApi", { name: "\ud800\ud800\ud800" }, "body.name"],
      ["apis.getApi", { apiId: null }, "body.apiId"],
      ["apis.getApi", { apiId: "api_12345678", name: "x" }, "body.name"],
      ["apis.deleteApi", {}, "body.apiId"],
      ["apis.deleteApi", { apiId: "api_12345678", force: true }, "body.force"],
    ])("[apis] %s refuses %j", async (procedure, body, location) => {
      const error = expectError(await run.call(procedure, body), 400, "unkey/application/invalid_input");
      expect(error.errors?.map((violation) => violation.location)).toEqual([location]);
    });

    test("[protocol §3] a name never comes from the query string", async () => {
      const response = await fetch(`${run.api.url}/v2/apis.createApi?name=fine`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${run.api.rootKey}` },
        body: "{}",
      });
      expect(response.status).toBe(400);
    });
  },
  ["v2"],
);
