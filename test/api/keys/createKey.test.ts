import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { everythingIn } from "../../support/written.ts";

const FAR = 4_102_444_800_000;
const base58 = /^[1-9A-HJ-NP-Za-km-z]+$/;

everywhere((run) => {
  describe("keys.createKey", () => {
    test("[keys §2] with only an apiId, every other field has its default", async () => {
      const { keyId, key } = await run.createKey();
      expect(keyId).toMatch(/^key_[a-zA-Z0-9]{16,251}$/);
      const start = key.slice(0, 4);
      expect(await run.getKey(keyId)).toEqual({ keyId, start, enabled: true, createdAt: expect.any(Number) });
      expect(await run.verify(key)).toMatchObject({ valid: true, code: "VALID", keyId, enabled: true });
    });

    test("[keys §2] the answer holds keyId and key, nothing else, and equal calls make distinct keys", async () => {
      const request = { apiId: await run.createApi(), name: "same", prefix: "same", meta: { n: 1 } };
      const answers = await Promise.all([1, 2, 3].map(() => run.data("keys.createKey", request)));
      for (const data of answers) expect(Object.keys(data).sort()).toEqual(["key", "keyId"]);
      for (const field of ["key", "keyId"]) expect(new Set(answers.map((data) => data[field])).size).toBe(3);
    });

    test.each([
      [undefined, 21, 22],
      [16, 21, 22],
      [32, 43, 44],
      [255, 347, 349],
    ])("[keys §1.1] byteLength %s gives %i to %i base58 characters", async (byteLength, shortest, longest) => {
      const { keyId, key } = await run.createKey(byteLength === undefined ? {} : { byteLength });
      expect(key).toMatch(base58);
      expect(key.length).toBeGreaterThanOrEqual(shortest);
      expect(key.length).toBeLessThanOrEqual(longest);
      expect(await run.getKey(keyId)).toMatchObject({ start: key.slice(0, 4) });
    });

    test.each(["p", "my_app", "_", "sk_live_", "x".repeat(16), "0OIl"])(
      "[keys §1.1] the secret part starts after the last _ of a key with the prefix %s",
      async (prefix) => {
        const { keyId, key } = await run.createKey({ prefix });
        expect(key.startsWith(`${prefix}_`)).toBe(true);
        const secretPart = key.slice(key.lastIndexOf("_") + 1);
        expect(key).toBe(`${prefix}_${secretPart}`);
        expect(secretPart).toMatch(base58);
        expect(await run.getKey(keyId)).toMatchObject({ start: `${prefix}_${secretPart.slice(0, 4)}` });
        expect(await run.verify(key)).toMatchObject({ valid: true });
        expect(await run.verify(secretPart)).toEqual({ valid: false, code: "NOT_FOUND" });
      },
    );

    test("[keys §1.1] the store holds the base64 SHA-256 of the key and never the key itself", async () => {
      const { keyId, key } = await run.createKey({ prefix: "hide", name: "hidden" });
      const stored = await run.api.store.collection("keys").findOne({ _id: keyId });
      expect(stored?.hash).toBe(createHash("sha256").update(key, "utf8").digest("base64"));
      expect(stored?.hash).toHaveLength(44);
      expect(JSON.stringify(await everythingIn(run.api.store))).not.toContain(key);
    });

    test("[keys §2] getKey returns the given fields", async () => {
      const role = run.unique("role");
      const slug = run.unique("docs.read");
      const externalId = run.unique("user");
      await run.data("permissions.createRole", { name: role });
      const refill = { interval: "monthly", amount: 5, refillDay: 31 };
      const limits = [
        { name: "requests", limit: 10, duration: 1000, autoApply: true },
        { name: "tokens", limit: 20, duration: 60_000 },
      ];
      const { keyId, key } = await run.createKey({
        prefix: "all",
        byteLength: 32,
        name: "  every field ",
        externalId,
        meta: { plan: "pro" },
        expires: FAR,
        credits: { remaining: 3, refill },
        ratelimits: limits,
        roles: [role],
        permissions: [slug],
        enabled: true,
        recoverable: false,
      });
      expect(await run.getKey(keyId)).toEqual({
        keyId,
        start: key.slice(0, 8),
        enabled: true,
        createdAt: expect.any(Number),
        name: "  every field ",
        meta: { plan: "pro" },
        expires: FAR,
        permissions: [slug],
        roles: [role],
        credits: { remaining: 3, refill },
        identity: { id: expect.stringMatching(/^id_[a-zA-Z0-9]+$/), externalId },
        ratelimits: limits.map((limit) => ({ autoApply: false, ...limit, id: expect.stringMatching(/^rl_[a-zA-Z0-9_]{5,}$/) })),
      });
    });

    test("[keys §2] empty lists and an empty meta are the same as none", async () => {
      const { keyId, key } = await run.createKey({ ratelimits: [], roles: [], permissions: [], meta: {} });
      expect(await run.getKey(keyId)).toEqual({ keyId, start: key.slice(0, 4), enabled: true, createdAt: expect.any(Number) });
    });

    test.each([
      ["expires in the past", { expires: 1 }, "EXPIRED"],
      ["expires 0", { expires: 0 }, "EXPIRED"],
      ["enabled false", { enabled: false }, "DISABLED"],
      ["enabled false and expires in the past", { enabled: false, expires: 1, credits: { remaining: 0 } }, "DISABLED"],
      ["a balance of 0", { credits: { remaining: 0 } }, "USAGE_EXCEEDED"],
      ["an unlimited balance", { credits: { remaining: null } }, "VALID"],
      ["expires far ahead", { expires: FAR }, "VALID"],
    ])("[keys §2] a key with %s is born %o: %s", async (_, fields, code) => {
      const { keyId, key } = await run.createKey(fields);
      const { credits, ...rest } = fields as { credits?: { remaining: number | null } };
      const shown = await run.getKey(keyId);
      expect(shown).toMatchObject(rest);
      if (credits?.remaining === null) expect(shown).not.toHaveProperty("credits");
      else if (credits) expect(shown).toMatchObject({ credits });
      expect(await run.verify(key)).toMatchObject({ valid: code === "VALID", code });
    });

    test.each([
      ["DAILY", "daily", undefined],
      ["daily", "daily", undefined],
      ["MONTHLY", "monthly", 1],
      ["monthly", "monthly", 31],
    ])("[keys §1.6] refill interval %s is accepted and read as %s", async (given, interval, refillDay) => {
      const day = refillDay === undefined ? {} : { refillDay };
      const { keyId } = await run.createKey({ credits: { remaining: 1, refill: { interval: given, amount: 2, ...day } } });
      expect(await run.getKey(keyId)).toMatchObject({ credits: { remaining: 1, refill: { interval, amount: 2, ...day } } });
    });

    test.each([
      ["a refill of an unlimited key", { remaining: null, refill: { interval: "daily", amount: 1 } }, "credits.remaining"],
      ["a monthly refill without a day", { remaining: 1, refill: { interval: "monthly", amount: 1 } }, "credits.refill.refillDay"],
      ["a daily refill with a day", { remaining: 1, refill: { interval: "daily", amount: 1, refillDay: 1 } }, "credits.refill.refillDay"],
      ["a DAILY refill with a day", { remaining: 1, refill: { interval: "DAILY", amount: 1, refillDay: 1 } }, "credits.refill.refillDay"],
    ])("[keys §2] %s is 400", async (_, credits, place) => {
      const apiId = await run.createApi();
      const error = expectError(await run.call("keys.createKey", { apiId, credits }), 400, "unkey/application/invalid_input");
      expect(error.errors?.map(({ location }) => location)).toEqual([`body.${place}`]);
      expect(error.detail).toContain(place);
    });
  });

  describe("the objects that a key refers to", () => {
    test("[keys §1.7] an unknown externalId makes an identity without metadata and limits, a known one is linked as it is", async () => {
      const externalId = run.unique("user");
      const first = await run.createKey({ externalId });
      const second = await run.createKey({ externalId });
      const { identity } = await run.getKey(first.keyId);
      expect(identity).toEqual({ id: expect.stringMatching(/^id_/), externalId });
      expect((await run.getKey(second.keyId)).identity).toEqual(identity);
      expect(await run.verify(first.key)).toMatchObject({ identity });
      const other = await run.createKey({ externalId: externalId.toUpperCase() });
      expect((await run.getKey(other.keyId)).identity).not.toEqual(identity);
    });

    test("[keys §1.6] repeated roles and permissions count once, of a repeated rate limit the last item wins", async () => {
      const [role, slug] = [run.unique("role"), run.unique("docs")];
      await run.data("permissions.createRole", { name: role });
      const { keyId } = await run.createKey({
        roles: [role, role],
        permissions: [slug, slug, slug.toUpperCase()],
        ratelimits: [
          { name: "requests", limit: 1, duration: 1000 },
          { name: "other", limit: 5, duration: 1000 },
          { name: "requests", limit: 2, duration: 2000, autoApply: true },
          { name: "Requests", limit: 3, duration: 3000 },
        ],
      });
      const { roles, permissions, ratelimits } = await run.getKey(keyId);
      expect({ roles, permissions }).toEqual({ roles: [role], permissions: [slug] });
      expect(ratelimits).toHaveLength(3);
      expect(ratelimits).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ name: "requests", limit: 2, duration: 2000, autoApply: true }),
          expect.objectContaining({ name: "Requests", limit: 3 }),
          expect.objectContaining({ name: "other", limit: 5 }),
        ]),
      );
    });

    test("[keys §1.7] unknown slugs are created with name = slug and no description", async () => {
      const slug = run.unique("auto:made.*");
      await run.createKey({ permissions: [slug] });
      const stored = await run.api.store.collection("permissions").findOne({ slugKey: slug.toLowerCase() });
      expect(stored).toMatchObject({ name: slug, slug });
      expect(stored).not.toHaveProperty("description");
      expectError(await run.call("permissions.createPermission", { name: "again", slug }), 409, "permission_already_exists");
    });

    test("[permissions §1] a slug in other letters and an id both mean the existing permission", async () => {
      const slug = run.unique("Docs.Read");
      const { permissionId } = await run.data("permissions.createPermission", { name: "Read", slug });
      for (const item of [slug.toUpperCase(), slug.toLowerCase(), permissionId]) {
        const { keyId } = await run.createKey({ permissions: [item] });
        expect((await run.getKey(keyId)).permissions).toEqual([slug]);
      }
      const { keyId } = await run.createKey({ permissions: [slug.toLowerCase(), permissionId, slug] });
      expect((await run.getKey(keyId)).permissions).toEqual([slug]);
    });

    test("[permissions §1] an id in other letters is no id: it is a new slug", async () => {
      const { permissionId } = await run.data("permissions.createPermission", { name: "Read", slug: run.unique("by.id") });
      const item = (permissionId as string).toUpperCase();
      const { keyId } = await run.createKey({ permissions: [item] });
      expect((await run.getKey(keyId)).permissions).toEqual([item]);
    });

    test("[keys §1.8] permissions are the distinct slugs, direct and through roles, sorted; roles are sorted", async () => {
      const [a, b, c] = [run.unique("sort.a"), run.unique("sort.b"), run.unique("sort.c")];
      const roles = [run.unique("role.b"), run.unique("role.a")];
      await run.data("permissions.createRole", { name: roles[0], permissions: [c, b] });
      await run.data("permissions.createRole", { name: roles[1], permissions: [b] });
      const { keyId, key } = await run.createKey({ roles, permissions: [b, a] });
      const expected = { permissions: [a, b, c], roles: [roles[1], roles[0]] };
      expect(await run.getKey(keyId)).toMatchObject(expected);
      expect(await run.verify(key, { permissions: `${a} AND ${b} AND ${c}` })).toMatchObject({ valid: true, ...expected });
    });

    test("[keys §1.6] every name that createRole accepts can be given to a key, spelled exactly", async () => {
      const name = `${run.unique("Röle mit Leerzeichen")} \u{1f600}`;
      await run.data("permissions.createRole", { name });
      const { keyId } = await run.createKey({ roles: [name] });
      expect((await run.getKey(keyId)).roles).toEqual([name]);
      const apiId = await run.createApi();
      for (const wrong of [name.toUpperCase(), ` ${name}`, name.normalize("NFD")]) {
        const error = expectError(await run.call("keys.createKey", { apiId, roles: [wrong] }), 404, "unkey/data/role_not_found");
        expect(error.detail).toContain(wrong);
      }
    });

    test("[permissions §1] a role is not found by its id", async () => {
      const { roleId } = await run.data("permissions.createRole", { name: run.unique("by-name") });
      expectError(await run.call("keys.createKey", { apiId: await run.createApi(), roles: [roleId] }), 404, "role_not_found");
    });
  });
});
