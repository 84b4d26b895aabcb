// @same-on-every-engine
import { beforeAll, describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { plainKey, registerMigration, SEAM } from "../../support/migrations.ts";
import { eventsIn, everythingIn } from "../../support/written.ts";

const MOST = Number.MAX_SAFE_INTEGER;
const FAR = 4_102_444_800_000;

const limit = (fields: object): object => ({ ratelimits: [{ name: "requests", limit: 1, duration: 1000, ...fields }] });
const refill = (fields: object): object => ({ credits: { remaining: 1, refill: { interval: "daily", amount: 1, ...fields } } });

/** Fields of the second item, by the location below it that the 400 names. */
const refusedFields: readonly (readonly [string, readonly object[]])[] = [
  [".hash", [{ hash: "ab" }, { hash: "" }, { hash: "😀😀" }, { hash: null }, { hash: 123 }, { hash: undefined }]],
  [".name", [{ name: "" }, { name: "n".repeat(256) }, { name: null }, { name: 1 }]],
  [
    ".externalId",
    [{ externalId: "" }, { externalId: "a b" }, { externalId: "user\n" }, { externalId: "a".repeat(256) }, { externalId: null }],
  ],
  [".meta", [{ meta: "x" }, { meta: [] }, { meta: null }, { meta: { large: "x".repeat(65_536) } }]],
  [".expires", [{ expires: -1 }, { expires: FAR + 1 }, { expires: 1.5 }, { expires: "0" }, { expires: null }]],
  [".enabled", [{ enabled: null }, { enabled: "true" }, { enabled: 1 }]],
  [".credits", [{ credits: null }, { credits: 5 }]],
  [
    ".credits.remaining",
    [{ credits: {} }, { credits: { remaining: -1 } }, { credits: { remaining: MOST + 1 } }, { credits: { remaining: "1" } }],
  ],
  [".credits.remaining", [{ credits: { remaining: null, refill: { interval: "daily", amount: 1 } } }]],
  [".credits.refill.amount", [refill({ amount: 0 }), refill({ amount: null })]],
  [".credits.refill.interval", [refill({ interval: "weekly" }), refill({ interval: "Daily" })]],
  [
    ".credits.refill.refillDay",
    [refill({ refillDay: 1 }), refill({ interval: "monthly" }), refill({ interval: "MONTHLY", refillDay: 32 })],
  ],
  [".ratelimits", [{ ratelimits: null }, { ratelimits: Array(51).fill({ name: "same", limit: 1, duration: 1000 }) }]],
  [".ratelimits[0].name", [limit({ name: "ab" }), limit({ name: "n".repeat(129) })]],
  [".ratelimits[0].limit", [limit({ limit: 0 }), limit({ limit: MOST + 1 })]],
  [".ratelimits[0].duration", [limit({ duration: 999 })]],
  [".roles", [{ roles: null }, { roles: Array(101).fill("same") }]],
  [".roles[0]", [{ roles: [""] }, { roles: ["r".repeat(129)] }]],
  [".permissions", [{ permissions: null }, { permissions: Array(1001).fill("same") }]],
  [".permissions[0]", [{ permissions: [""] }, { permissions: ["a b"] }, { permissions: ["read\n"] }, { permissions: ["p".repeat(129)] }]],
  [".unknown", [{ unknown: 1 }]],
  [".credits.extra", [{ credits: { remaining: 1, extra: 1 } }]],
  [".keyId", [{ keyId: "key_chosen" }]],
];

everywhere(
  (run) => {
    let apiId = "";
    let migrationId = "";
    beforeAll(async () => {
      apiId = await run.createApi();
      migrationId = await registerMigration(run.api.store, "sha256");
    });
    const call = (keys: unknown) => run.call("keys.migrateKeys", { apiId, migrationId, keys });
    const migrate = async (keys: readonly object[]) =>
      (await run.data("keys.migrateKeys", { apiId, migrationId, keys })) as {
        migrated: { hash: string; keyId: string }[];
        failed: string[];
      };

    describe("bounds", () => {
      test.each(refusedFields)("[keys §7] %s outside of its bounds is 400, at its place in the list", async (place, items) => {
        for (const fields of items) {
          const error = expectError(
            await call([{ hash: plainKey().hash }, { hash: plainKey().hash, ...fields }]),
            400,
            "unkey/application/invalid_input",
          );
          const places = new Set(error.errors?.map(({ location }) => location));
          expect({ fields, places: [...places] }).toEqual({ fields, places: [`body.keys[1]${place}`] });
        }
      });

      test.each([
        ["keys", { keys: [] }],
        ["keys", { keys: null }],
        ["keys", { keys: { hash: "abc" } }],
        ["keys", { keys: undefined }],
        ["keys[0]", { keys: ["abc"] }],
        ["keys[0]", { keys: [null] }],
        ["apiId", { apiId: "ab" }],
        ["apiId", { apiId: "a".repeat(256) }],
        ["apiId", { apiId: undefined }],
        ["migrationId", { migrationId: "ab" }],
        ["migrationId", { migrationId: "m".repeat(256) }],
        ["migrationId", { migrationId: undefined }],
        ["migrationId", { migrationId: null }],
        ["byteLength", { byteLength: 16 }],
      ])("[keys §7] body.%s: %j is 400", async (place, fields) => {
        const answer = await run.call("keys.migrateKeys", { apiId, migrationId, keys: [{ hash: plainKey().hash }], ...fields });
        const error = expectError(answer, 400, "unkey/application/invalid_input");
        expect(error.errors?.map(({ location }) => location)).toEqual([`body.${place}`]);
      });

      test("[protocol §6] every violation of every item is reported", async () => {
        const error = expectError(await call([{ hash: "a" }, { name: "" }, { hash: "abc", credits: {} }]), 400, "invalid_input");
        expect(error.errors?.map(({ location }) => location).sort()).toEqual([
          "body.keys[0].hash",
          "body.keys[1].hash",
          "body.keys[1].name",
          "body.keys[2].credits.remaining",
        ]);
      });

      test("[keys §7] values at the bounds are imported", async () => {
        const unique = (stem: string): string => `${stem}${run.unique("edge")}`;
        const items = [
          { hash: unique("abc") },
          { hash: unique("😀") },
          { hash: unique("a\u0000b") },
          { hash: unique("$x.y") },
          { hash: unique("").padEnd(100_000, "h") },
          { hash: unique("m"), meta: { "a.b": { $set: null }, __proto__x: [1, "", {}] } },
          { hash: unique("n"), name: "😀".repeat(255) },
          { hash: unique("r"), roles: Array(100).fill(unique("role")), permissions: Array(1000).fill(`a.${apiId}`) },
          { hash: unique("c"), credits: { remaining: MOST, refill: { interval: "MONTHLY", amount: MOST, refillDay: 31 } } },
          { hash: unique("l"), ratelimits: [{ id: "rl_ignored", name: "abc", limit: MOST, duration: 1000 }] },
        ];
        const { migrated, failed } = await migrate(items);
        expect(failed).toEqual([]);
        expect(migrated.map(({ hash }) => hash)).toEqual(items.map(({ hash }) => hash));
        expect(await migrate(items)).toEqual({ migrated: [], failed: items.map(({ hash }) => hash) });
      });

      test("[protocol §3] a hash with a lone surrogate is stored or 400, never a 5xx", async () => {
        const { status } = await call([{ hash: `abc\ud800${run.unique("x")}` }]);
        expect([200, 400]).toContain(status);
      });
    });

    describe("large and concurrent imports", () => {
      test("[keys §7] 1,000 items with repeated and taken hashes: each hash becomes one key, all others are in failed, in request order", async () => {
        const taken = Array.from({ length: 40 }, () => plainKey().hash);
        await migrate(taken.map((hash) => ({ hash })));
        const pool = Array.from({ length: 700 }, () => plainKey().hash);
        const hashes = Array.from({ length: 1000 }, (_, i) =>
          i % 25 === 24 ? taken[(i - 24) / 25] : pool[((i * 7) % 701) % 700],
        ) as string[];
        const items = hashes.map((hash, i) => ({
          hash,
          name: `n${i}`,
          externalId: `user_${i % 10}`,
          roles: [`role ${i % 3}`],
          permissions: [`perm.${i % 5}`],
        }));
        const { migrated, failed } = await migrate(items);
        const first = [...new Set(hashes)].filter((hash) => !taken.includes(hash));
        expect(migrated.map(({ hash }) => hash)).toEqual(first);
        const left = new Set(first);
        expect(failed).toEqual(hashes.filter((hash) => !left.delete(hash)));
        const stored = await run.api.store
          .collection("keys")
          .find({ hash: { $in: first } })
          .toArray();
        const byHash = new Map(stored.map((key) => [key.hash, key]));
        expect(byHash.size).toBe(first.length);
        for (const { hash, keyId } of migrated) expect(byHash.get(hash)).toMatchObject({ _id: keyId, name: `n${hashes.indexOf(hash)}` });
        expect(new Set(stored.flatMap(({ identityId }) => identityId ?? [])).size).toBe(10);
        expect(new Set(stored.flatMap(({ roleIds }) => roleIds)).size).toBe(3);
      });

      test("[keys §7] overlapping imports at once import each hash once, and none fails", async () => {
        const [a, b] = [run.api, await run.other()];
        const hashes = Array.from({ length: 120 }, () => plainKey().hash);
        const shared = { roles: [run.unique("raced role")], permissions: [run.unique("raced.slug")], externalId: run.unique("raced") };
        // Each in another order, so that they meet in the middle.
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, i) => {
            const turned = [...hashes.slice(i * 15), ...hashes.slice(0, i * 15)];
            const keys = turned.map((hash) => ({ hash, ...shared }));
            return run.data("keys.migrateKeys", { apiId, migrationId, keys }, undefined, i % 2 === 0 ? a : b);
          }),
        );
        const migrated = answers.flatMap((answer) => (answer as { migrated: { hash: string; keyId: string }[] }).migrated);
        expect(migrated.map(({ hash }) => hash).sort()).toEqual([...hashes].sort());
        for (const answer of answers)
          expect([...(answer.migrated as { hash: string }[]).map(({ hash }) => hash), ...(answer.failed as string[])].sort()).toEqual(
            [...hashes].sort(),
          );
        const stored = await run.api.store
          .collection("keys")
          .find({ hash: { $in: hashes } })
          .toArray();
        expect(new Map(stored.map(({ hash, _id }) => [hash, _id]))).toEqual(new Map(migrated.map(({ hash, keyId }) => [hash, keyId])));
        for (const field of ["identityId", "roleIds", "permissionIds"] as const) {
          expect(new Set(stored.map((key) => String(key[field]))).size, field).toBe(1);
        }
        const events = (await eventsIn(run.api.store)).filter(({ resources }) =>
          resources.some(({ id }) => migrated.some(({ keyId }) => keyId === id)),
        );
        expect(events.filter(({ event }) => event === "key.create")).toHaveLength(hashes.length);
      });

      test("[keys §7] one hash in imports under different migrations at once becomes one key", async () => {
        const seam = await registerMigration(run.api.store, SEAM);
        const { hash } = plainKey();
        const answers = await Promise.all(
          [migrationId, seam, migrationId, seam].map((id) => run.data("keys.migrateKeys", { apiId, migrationId: id, keys: [{ hash }] })),
        );
        expect(answers.flatMap(({ migrated }) => migrated)).toHaveLength(1);
        expect(answers.flatMap(({ failed }) => failed)).toEqual([hash, hash, hash]);
      });

      test("[keys §7] a repeated import changes nothing", async () => {
        const items = [{ hash: plainKey().hash, name: "first", roles: [run.unique("role")] }];
        await migrate(items);
        const before = await everythingIn(run.api.store);
        await migrate(
          items.map((item) => ({ ...item, name: "second", roles: [run.unique("other role")], permissions: [run.unique("slug")] })),
        );
        expect(await everythingIn(run.api.store)).toEqual(before);
      });
    });
  },
  ["v2"],
);
