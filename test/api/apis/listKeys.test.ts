import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { eventsBy, everythingIn } from "../../support/written.ts";

const NOT_FOUND = "unkey/data/api_not_found";
const FORBIDDEN = "unkey/authorization/insufficient_permissions";

type Item = Record<string, unknown> & { readonly keyId: string };

everywhere(
  (run) => {
    const page = async (body: object, rootKey?: string) => {
      const answer = await run.call("apis.listKeys", body, rootKey);
      expect(answer.status, JSON.stringify(answer.body.error)).toBe(200);
      return { items: answer.body.data as Item[], pagination: answer.body.pagination };
    };
    const idsOf = async (body: object): Promise<string[]> => (await page(body)).items.map(({ keyId }) => keyId);
    const holding = (...permissions: string[]): Promise<string> => run.api.createRootKey({ permissions });

    describe("the listed keys", () => {
      test("[apis listKeys] a key looks exactly as getKey shows it, whatever it has; nothing is null or empty", async () => {
        const [externalId, role] = [run.unique("user"), run.unique("role")];
        const limit = { name: "requests", limit: 10, duration: 60_000 };
        await run.data("identities.createIdentity", { externalId, meta: { a: null }, ratelimits: [limit] });
        await run.data("permissions.createRole", { name: role, permissions: ["both", "of.role"] });
        const { apiId, keyId: bare } = await run.createKey();
        await run.createKey({
          apiId,
          name: "full",
          prefix: "pre",
          meta: { plan: "pro" },
          externalId,
          roles: [role],
          permissions: ["both", "direct"],
          expires: 4_000_000_000_000,
          credits: { remaining: 5, refill: { interval: "monthly", amount: 5, refillDay: 3 } },
          ratelimits: [limit],
        });
        await run.createKey({
          apiId,
          meta: {},
          permissions: [],
          roles: [],
          credits: { remaining: 0, refill: { interval: "daily", amount: 1 } },
        });
        const { items, pagination } = await page({ apiId });
        expect(pagination).toEqual({ hasMore: false });
        expect(items).toHaveLength(3);
        for (const item of items) {
          expect(item).toEqual(await run.getKey(item.keyId));
          for (const value of Object.values(item)) expect([null, [], {}]).not.toContainEqual(value);
        }
        expect(items.find(({ keyId }) => keyId === bare)).toEqual({
          keyId: bare,
          start: expect.any(String),
          enabled: true,
          createdAt: expect.any(Number),
        });
        const full = items.find(({ name }) => name === "full");
        expect([...((full?.permissions ?? []) as string[])].sort()).toEqual(["both", "direct", "of.role"]);
        // The identity's limit of that name is hidden in verification, and shown here.
        expect(full?.identity).toMatchObject({ externalId, meta: { a: null }, ratelimits: [{ name: "requests" }] });
      });

      test("[apis listKeys] disabled, expired and exhausted keys are listed; deleted ones, keys of other APIs and root keys are not", async () => {
        const apiId = await run.createApi();
        const listed = [];
        for (const fields of [{ enabled: false }, { expires: 4_000_000_000_000 }, { credits: { remaining: 0 } }])
          listed.push((await run.createKey({ apiId, ...fields })).keyId);
        await run.data("keys.updateKey", { keyId: listed[1], expires: 1_000_000_000_000 });
        for (const permanent of [false, true]) {
          const { keyId } = await run.createKey({ apiId });
          await run.data("keys.deleteKey", { keyId, permanent });
        }
        await run.createKey();
        expect(await idsOf({ apiId })).toEqual(listed.sort());
      });

      test("[apis listKeys] changes made before the call are visible in it", async () => {
        const { apiId, keyId } = await run.createKey({ name: "first" });
        expect((await page({ apiId })).items).toMatchObject([{ name: "first" }]);
        await run.data("keys.updateKey", { keyId, name: null, permissions: ["late"] });
        const [item] = (await page({ apiId, revalidateKeysCache: true })).items;
        expect(item).toMatchObject({ permissions: ["late"], updatedAt: expect.any(Number) });
        expect(item).not.toHaveProperty("name");
        await run.data("permissions.deletePermission", { permission: "late" });
        expect((await page({ apiId })).items[0]).not.toHaveProperty("permissions");
        await run.data("keys.deleteKey", { keyId });
        expect(await page({ apiId })).toEqual({ items: [], pagination: { hasMore: false } });
      });

      test("[apis listKeys] no response holds key material beyond start", async () => {
        const { apiId, key } = await run.createKey({ byteLength: 32 });
        const { items } = await page({ apiId });
        expect(key.startsWith(items[0]?.start as string)).toBe(true);
        expect(JSON.stringify(items)).not.toContain(key);
        expect(items[0]).not.toHaveProperty("plaintext");
      });
    });

    describe("externalId", () => {
      test("[apis listKeys] only keys of the live identity with exactly that externalId, within this API", async () => {
        const user = run.unique("User");
        const { apiId, keyId } = await run.createKey({ externalId: user });
        await run.createKey({ apiId, externalId: user.toLowerCase() });
        await run.createKey({ apiId });
        await run.createKey({ externalId: user });
        expect(await idsOf({ apiId, externalId: user })).toEqual([keyId]);
        const { id } = await run.data("identities.getIdentity", { identity: user });
        for (const externalId of [id, user.toUpperCase(), "unknown", `${user} `, "%", "*", "a\u0000", "😀".repeat(300)])
          expect(await page({ apiId, externalId })).toEqual({ items: [], pagination: { hasMore: false } });
        expectError(await run.call("apis.listKeys", { apiId, externalId: "" }), 400, "invalid_input");
      });

      test("[apis listKeys] it follows updateKey at once, and a deleted identity has no keys", async () => {
        const [a, b] = [run.unique("a"), run.unique("b")];
        const { apiId, keyId } = await run.createKey({ externalId: a });
        await run.data("keys.updateKey", { keyId, externalId: b });
        expect([await idsOf({ apiId, externalId: a }), await idsOf({ apiId, externalId: b })]).toEqual([[], [keyId]]);
        await run.data("identities.deleteIdentity", { identity: b });
        expect(await idsOf({ apiId, externalId: b })).toEqual([]);
        expect((await page({ apiId })).items[0]).not.toHaveProperty("identity");
        await run.data("identities.createIdentity", { externalId: b });
        expect(await idsOf({ apiId, externalId: b })).toEqual([]);
      });

      test("[apis listKeys] it composes with limit and cursor", async () => {
        const user = run.unique("user");
        const apiId = await run.createApi();
        const ids = [];
        for (let i = 0; i < 5; i++) {
          ids.push((await run.createKey({ apiId, externalId: user })).keyId);
          await run.createKey({ apiId });
        }
        ids.sort();
        const first = await page({ apiId, externalId: user, limit: 2 });
        const second = await page({ apiId, externalId: user, limit: 2, cursor: first.pagination?.cursor });
        const third = await page({ apiId, externalId: user, limit: 2, cursor: second.pagination?.cursor });
        expect([first, second, third].flatMap(({ items }) => items.map(({ keyId }) => keyId))).toEqual(ids);
        expect(third.pagination).toEqual({ hasMore: false });
      });
    });

    describe("pages", () => {
      test("[apis listKeys] ascending by keyId; an exactly full last page ends the list; a cursor is bound to nothing", async () => {
        const apiId = await run.createApi();
        const ids: string[] = [];
        for (let i = 0; i < 6; i++) ids.push((await run.createKey({ apiId })).keyId);
        ids.sort();
        expect(await idsOf({ apiId, cursor: "" })).toEqual(ids);
        const { items, pagination } = await page({ apiId, limit: 3 });
        expect(items.map(({ keyId }) => keyId)).toEqual(ids.slice(0, 3));
        expect(pagination).toEqual({ hasMore: true, cursor: expect.any(String) });
        const cursor = pagination?.cursor;
        expect((await page({ apiId, limit: 3, cursor })).pagination).toEqual({ hasMore: false });
        expect(await idsOf({ apiId, limit: 1, cursor })).toEqual(ids.slice(3, 4));
        expect(await idsOf({ apiId, cursor })).toEqual(ids.slice(3));
        await run.data("keys.deleteKey", { keyId: ids[3] });
        expect(await idsOf({ apiId, cursor })).toEqual(ids.slice(4));
        expect(await idsOf({ apiId: (await run.createKey()).apiId, cursor })).toHaveLength(1);
      });

      test("[apis listKeys] a cursor that was never issued is a position or 400, never 5xx", async () => {
        const { apiId } = await run.createKey();
        for (const cursor of ["0", "zzz", "%", "\u0000", "😀", " ", '{"$gt":""}', "x".repeat(10_000)])
          expect([200, 400]).toContain((await run.call("apis.listKeys", { apiId, cursor })).status);
        expect(await idsOf({ apiId, cursor: "zzz" })).toEqual([]);
      });

      test("[apis listKeys] 100 by default, and at most", async () => {
        const apiId = await run.createApi();
        await Promise.all(Array.from({ length: 101 }, () => run.createKey({ apiId })));
        const { items, pagination } = await page({ apiId });
        expect(items).toHaveLength(100);
        expect(await idsOf({ apiId, cursor: pagination?.cursor })).toHaveLength(1);
        for (const limit of [0, -1, 101]) expectError(await run.call("apis.listKeys", { apiId, limit }), 400, "invalid_input");
      });
    });

    describe("refusals", () => {
      test("[apis listKeys] read_key and read_api are both needed, mixed as one likes; the detail names the missing one", async () => {
        const { apiId, keyId } = await run.createKey();
        const unknown = "api_unknown1234";
        for (const [held, missing] of [
          [["api.*.read_api"], ["read_key"]],
          [[`api.${apiId}.read_key`, `api.${unknown}.read_key`], ["read_api"]],
          [["api.*.create_key"], ["read_key", "read_api"]],
          [[`api.${apiId}x.read_key`, "api.*.read_api"], ["read_key"]],
        ] as const) {
          const caller = await holding(...held);
          for (const id of [apiId, unknown]) {
            const { detail } = expectError(await run.call("apis.listKeys", { apiId: id }, caller), 403, FORBIDDEN);
            for (const action of missing) for (const each of [`api.${id}.${action}`, `api.*.${action}`]) expect(detail).toContain(each);
          }
        }
        for (const held of [
          ["api.*.read_key", "api.*.read_api"],
          ["api.*.read_key", `api.${apiId}.read_api`],
          [`api.${apiId}.read_key`, "apis.*.read_api"],
        ])
          expect((await page({ apiId }, await holding(...held))).items.map((item) => item.keyId)).toEqual([keyId]);
      });

      test("[apis listKeys] decrypt asks for decrypt_key, before 404 and before 412", async () => {
        const { apiId } = await run.createKey();
        const readers = ["api.*.read_key", "api.*.read_api"];
        for (const id of [apiId, "api_unknown1234"]) {
          const { detail } = expectError(
            await run.call("apis.listKeys", { apiId: id, decrypt: true }, await holding(...readers)),
            403,
            FORBIDDEN,
          );
          for (const each of [`api.${id}.decrypt_key`, "api.*.decrypt_key"]) expect(detail).toContain(each);
        }
        const caller = await holding(...readers, "api.*.decrypt_key");
        expectError(await run.call("apis.listKeys", { apiId: "api_unknown1234", decrypt: true }, caller), 404, NOT_FOUND);
        expectError(await run.call("apis.listKeys", { apiId, decrypt: true }, caller), 412, "precondition_failed");
        expect(
          (await page({ apiId, decrypt: false, revalidateKeysCache: false, limit: 100 }, await holding(...readers))).items,
        ).toHaveLength(1);
      });

      test("[apis listKeys] any odd apiId is 404, an empty one 400; a deleted API never existed", async () => {
        const { apiId } = await run.createKey();
        await run.data("apis.deleteApi", { apiId });
        for (const odd of [apiId, "x".repeat(500), "@#$%", "a\u0000b", "😀", "\n", "*", "$where", "__proto__"])
          expectError(await run.call("apis.listKeys", { apiId: odd }), 404, NOT_FOUND);
        expectError(await run.call("apis.listKeys", { apiId: "" }), 400, "invalid_input");
      });

      test("[protocol §11] listing writes nothing", async () => {
        const { apiId } = await run.createKey();
        const before = await everythingIn(run.api.store);
        await page({ apiId });
        expect(await everythingIn(run.api.store)).toEqual(before);
      });
    });
  },
  ["v2", "grpc"],
);

describe("with an encryption key", () => {
  everywhere(
    (run) => {
      test("[apis listKeys] decrypt shows the secrets of recoverable keys, with one key.decrypt event each", async () => {
        const name = run.unique("reader");
        const rootKey = await run.api.createRootKey({ name });
        const recoverable = await run.createKey({ recoverable: true });
        const { apiId } = recoverable;
        const plain = await run.createKey({ apiId });
        const secrets = async (fields: object): Promise<unknown> => {
          const items = (await run.data("apis.listKeys", { apiId, ...fields }, rootKey)) as unknown as Item[];
          return Object.fromEntries(items.map(({ keyId, plaintext }) => [keyId, plaintext]));
        };
        expect(await secrets({})).toEqual({ [recoverable.keyId]: undefined, [plain.keyId]: undefined });
        expect(await eventsBy(run.api.store, name)).toEqual([]);
        expect(await secrets({ decrypt: true })).toEqual({ [recoverable.keyId]: recoverable.key, [plain.keyId]: undefined });
        const events = await eventsBy(run.api.store, name);
        expect(events.map(({ event, resources }) => [event, resources[0]?.id])).toEqual([["key.decrypt", recoverable.keyId]]);
        expect(JSON.stringify(events)).not.toContain(recoverable.key);
      });

      test("[apis listKeys] a secret that cannot be decrypted fails the request, and is not passed over", async () => {
        const { apiId, keyId } = await run.createKey({ recoverable: true });
        await run.createKey({ apiId, recoverable: true });
        const keys = run.api.store.collection("keys");
        const { encrypted } = (await keys.findOne({ _id: keyId })) ?? expect.unreachable();
        const ciphertext = `${encrypted?.ciphertext.slice(0, -8)}AAAAAAA=`;
        await keys.updateOne({ _id: keyId }, { $set: { encrypted: { keyId: encrypted?.keyId ?? "", ciphertext } } });
        expectError(await run.call("apis.listKeys", { apiId, decrypt: true }), 500, "unkey/application/unexpected_error");
        expect(await run.data("apis.listKeys", { apiId })).toHaveLength(2);
      });
    },
    ["v2", "grpc"],
    { env: { ENCRYPTION_KEYS: `first:${randomBytes(32).toString("base64")}` } },
  );
});
