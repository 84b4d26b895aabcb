// @same-on-every-engine
import { beforeAll, describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";

const MOST = Number.MAX_SAFE_INTEGER;
const FAR = 4_102_444_800_000;
const limit = (fields: object): object => ({ ratelimits: [{ name: "requests", limit: 1, duration: 1000, ...fields }] });
const refill = (fields: object): object => ({ credits: { remaining: 1, refill: { interval: "daily", amount: 1, ...fields } } });
const monthly = (refillDay: number): object => refill({ interval: "monthly", refillDay });
const credits = (remaining: unknown): object => ({ credits: { remaining } });

/** Accepted by createKey and updateKey, at the edge of what is allowed; getKey then shows just that. */
const accepted: readonly (readonly [string, readonly object[]])[] = [
  ["name", ["n", " ", "n".repeat(255), "😀".repeat(255), "a\u0000b", "line\n", "__proto__"].map((name) => ({ name }))],
  ["expires", [0, 1, FAR].map((expires) => ({ expires }))],
  ["credits.remaining", [0, 1, MOST].map(credits)],
  ["refill.amount", [1, MOST].map((amount) => refill({ amount }))],
  ["refill.refillDay", [1, 31].map(monthly)],
  ["ratelimits.name", ["abc", "😀".repeat(3), "n".repeat(128), "😀".repeat(128), "a\u0000b", "$set", "a.b"].map((name) => limit({ name }))],
  ["ratelimits.limit", [1, MOST].map((most) => limit({ limit: most }))],
  ["ratelimits.duration", [1000, MOST].map((duration) => limit({ duration }))],
  ["enabled", [true, false].map((enabled) => ({ enabled }))],
];

/** The fields as getKey shows them: with the ids of rate limits and their defaults. */
const shown = (fields: object): object => {
  const { ratelimits } = fields as { ratelimits?: object[] };
  if (!ratelimits) return fields;
  return { ratelimits: ratelimits.map((item) => ({ autoApply: false, ...item, id: expect.stringMatching(/^rl_/) })) };
};

type Refused = readonly (readonly [string, readonly object[]])[];
const names = (field: string, texts: readonly string[]): object[] => texts.map((text) => ({ [field]: [text] }));

/** Texts that createKey and updateKey refuse, by the location that the 400 names. */
const refusedTexts: Refused = [
  ["name", ["", "n".repeat(256), "😀".repeat(256)].map((name) => ({ name }))],
  ["externalId", ["", "a".repeat(256), "a b", "user\n", "ä", "a/b", "a\u0000"].map((externalId) => ({ externalId }))],
  ["ratelimits[0].name", ["", "ab", "😀😀", "n".repeat(129), "😀".repeat(129)].map((name) => limit({ name }))],
];

const refusedByCreate: Refused = [
  ["apiId", ["", "ab", "a".repeat(256), "api-1", "api 1", "api_1\n"].map((apiId) => ({ apiId }))],
  ["prefix", ["", "p".repeat(17), "a-b", "a.b", "ä", "p\n", "😀"].map((prefix) => ({ prefix }))],
  ["roles[0]", names("roles", ["", "r".repeat(129), "😀".repeat(129)])],
  ["permissions[0]", names("permissions", ["", "p".repeat(129), "a b", "a/b", "ä", "read\n"])],
];

const refusedByUpdate: Refused = [
  ["keyId", ["", "ab", "a".repeat(256), "key-1", "key_1\n"].map((keyId) => ({ keyId }))],
  ["roles[0]", names("roles", ["", "r".repeat(101), "a b", "ä", "admin\n"])],
  ["permissions[0]", names("permissions", ["", "ab", "p".repeat(101), "a b", "a/b", "ä", "read\n"])],
];

/** Numbers and lists that both refuse; only JSON can say some of them. */
const refusedNumbers: Refused = [
  ["expires", [-1, FAR + 1, 1.5, "0", true, 1e300].map((expires) => ({ expires }))],
  ["credits.remaining", [-1, MOST + 1, 0.5, "1", []].map(credits)],
  ["credits.refill.amount", [0, -1, MOST + 1, 1.5, null].map((amount) => refill({ amount }))],
  ["credits.refill.refillDay", [0, 32, -1, 1.5, null].map((refillDay) => refill({ interval: "monthly", refillDay }))],
  ["credits.refill.interval", ["weekly", "Daily", "", null, 1].map((interval) => refill({ interval }))],
  ["ratelimits[0].limit", [0, -1, MOST + 1, 1.5, "1", null].map((most) => limit({ limit: most }))],
  ["ratelimits[0].duration", [999, 0, -1, MOST + 1, 1000.5, null].map((duration) => limit({ duration }))],
  ["ratelimits[0].autoApply", ["true", null, 1].map((autoApply) => limit({ autoApply }))],
  ["ratelimits", [Array(51).fill({ name: "same", limit: 1, duration: 1000 }), {}, "x"].map((ratelimits) => ({ ratelimits }))],
  ["roles", [Array(101).fill("same"), "admin", null].map((roles) => ({ roles }))],
  ["permissions", [Array(1001).fill("same"), "read", null].map((permissions) => ({ permissions }))],
  ["enabled", [null, "true", 1, "", []].map((enabled) => ({ enabled }))],
  ["meta", ["x", 1, [], true].map((meta) => ({ meta }))],
];

everywhere((run) => {
  const of: Record<string, string> = {};
  beforeAll(async () => {
    of.apiId = await run.createApi();
    of.keyId = (await run.createKey({ apiId: of.apiId })).keyId;
  });
  const createBody = (fields: object): object => ({ apiId: of.apiId, ...fields });
  const updateBody = (fields: object): object => ({ keyId: of.keyId, ...fields });

  const refuses = (procedure: string, body: (fields: object) => object, table: Refused): void => {
    test.each(table)(`[keys §1.6] ${procedure} refuses %s outside its bounds, naming the place`, async (place, all) => {
      const answers = await Promise.all(all.map((fields) => run.call(procedure, body(fields))));
      for (const [i, answer] of answers.entries()) {
        const error = expectError(answer, 400, "unkey/application/invalid_input");
        expect(error.errors?.[0]?.location, JSON.stringify(all[i])).toBe(`body.${place}`);
      }
    });
  };

  describe("accepted", () => {
    test.each(accepted)("[keys §1.6] %s up to its bounds, by createKey and updateKey alike", async (_, all) => {
      for (const fields of all) {
        const { keyId } = await run.createKey({ apiId: of.apiId, ...fields });
        expect(await run.getKey(keyId)).toMatchObject(shown(fields));
        const plain = await run.createKey({ apiId: of.apiId });
        await run.data("keys.updateKey", { keyId: plain.keyId, ...fields });
        expect(await run.getKey(plain.keyId)).toMatchObject(shown(fields));
      }
    });

    test("[keys §1.6] externalIds up to their bounds", async () => {
      const stem = run.unique("id");
      for (const externalId of ["u", stem.padEnd(255, "x"), `${stem}_A-b.c.1`, "-", "...", "__proto__"]) {
        const { keyId } = await run.createKey({ apiId: of.apiId, externalId });
        expect(await run.getKey(keyId)).toMatchObject({ identity: { externalId } });
        const plain = await run.createKey({ apiId: of.apiId });
        await run.data("keys.updateKey", { keyId: plain.keyId, externalId });
        expect(await run.getKey(plain.keyId)).toMatchObject({ identity: { externalId } });
      }
    });

    test("[keys §1.6] role names of 128 characters and slugs of 1 to 128 by createKey; updateKey takes 100 and 3 to 100", async () => {
      const role128 = `${run.unique("r")}${"😀".repeat(128)}`.slice(0, 128).toWellFormed();
      const role100 = `${run.unique("r")}`.padEnd(100, "*");
      for (const name of [role128, role100]) await run.data("permissions.createRole", { name });
      const slugs = ["x", "*", `${run.unique("p")}`.padEnd(128, ":"), "a.b:c-d_e*"];
      const { keyId } = await run.createKey({ apiId: of.apiId, roles: [role128, role100], permissions: slugs });
      expect(await run.getKey(keyId)).toMatchObject({ roles: [role100, role128].sort(), permissions: slugs.toSorted() });

      const shorter = ["abc", `${run.unique("p")}`.padEnd(100, "-")];
      await run.data("keys.updateKey", { keyId, roles: [role100], permissions: shorter });
      expect(await run.getKey(keyId)).toMatchObject({ roles: [role100], permissions: shorter.toSorted() });
    });

    test("[keys §1.6] meta of 64 KiB of JSON is accepted, one byte more is 400", async () => {
      const most = { text: "é".repeat((65_536 - '{"text":""}'.length - 1) / 2), x: 1 };
      const size = Buffer.byteLength(JSON.stringify(most));
      const metas = [65_536, 65_537].map((bytes) => ({ ...most, text: most.text.slice(8) + "n".repeat(16 + bytes - size) }));
      expect(metas.map((meta) => Buffer.byteLength(JSON.stringify(meta)))).toEqual([65_536, 65_537]);
      const { keyId, key } = await run.createKey({ apiId: of.apiId, meta: metas[0] });
      expect((await run.getKey(keyId)).meta).toEqual(metas[0]);
      expect((await run.verify(key)).meta).toEqual(metas[0]);
      for (const [procedure, body] of [
        ["keys.createKey", createBody({ meta: metas[1] })],
        ["keys.updateKey", updateBody({ meta: metas[1] })],
      ] as const) {
        const error = expectError(await run.call(procedure, body), 400, "unkey/application/invalid_input");
        expect(error.errors?.map(({ location }) => location)).toEqual(["body.meta"]);
      }
    });

    if (["v2", "grpc"].includes(run.edge))
      test("[keys §1.6] 1000 permissions, 100 roles and 50 rate limits at once", async () => {
        const stem = run.unique("many");
        const roles = Array.from({ length: 100 }, (_, i) => `${stem}.${String(i).padStart(3, "0")}`);
        const permissions = Array.from({ length: 1000 }, (_, i) => `${stem}.${String(i).padStart(4, "0")}`);
        const ratelimits = Array.from({ length: 50 }, (_, i) => ({
          name: `limit ${i}`,
          limit: i + 1,
          duration: 1000 + i,
          autoApply: true,
        }));
        await Promise.all(roles.map((name) => run.data("permissions.createRole", { name })));
        const everything = { roles, permissions, ratelimits };
        const created = await run.createKey({ apiId: of.apiId, ...everything });
        const updated = await run.createKey({ apiId: of.apiId });
        await run.data("keys.updateKey", { keyId: updated.keyId, ...everything });
        for (const { keyId, key } of [created, updated]) {
          const { ratelimits: limits, ...shownKey } = await run.getKey(keyId);
          expect(shownKey).toMatchObject({ roles, permissions });
          expect(limits).toHaveLength(50);
          const verified = await run.verify(key, { permissions: `${permissions[0]} AND ${permissions[999]}` });
          expect(verified).toMatchObject({ valid: true, roles });
          expect(verified.permissions).toHaveLength(1000);
          expect(verified.ratelimits).toHaveLength(50);
        }
      });
  });

  describe("refused", () => {
    refuses("keys.createKey", createBody, [...refusedTexts, ...refusedByCreate]);
    refuses("keys.updateKey", updateBody, [...refusedTexts, ...refusedByUpdate]);
    if (run.edge !== "v2") return;
    refuses("keys.createKey", createBody, refusedNumbers);
    refuses("keys.updateKey", updateBody, [
      ...refusedNumbers.filter(([place]) => place !== "ratelimits"),
      ["ratelimits", [{ ratelimits: "x" }]],
    ]);

    test("[keys §2] byteLength outside 16 to 255 is 400, and so is null in every field but credits.remaining", async () => {
      for (const byteLength of [15, 256, 0, -1, 16.5, "16", null]) {
        const error = expectError(await run.call("keys.createKey", createBody({ byteLength })), 400, "invalid_input");
        expect(error.errors?.[0]?.location).toBe("body.byteLength");
      }
      const fields = [
        "prefix",
        "name",
        "externalId",
        "meta",
        "expires",
        "credits",
        "ratelimits",
        "roles",
        "permissions",
        "enabled",
        "recoverable",
      ];
      const body = createBody(Object.fromEntries(fields.map((field) => [field, null])));
      const error = expectError(await run.call("keys.createKey", body), 400, "invalid_input");
      expect(error.errors?.map(({ location }) => location).sort()).toEqual(fields.map((field) => `body.${field}`).sort());
      expectError(await run.call("keys.createKey", createBody({ credits: {} })), 400, "invalid_input");
    });

    test("[keys §1.5] an unknown field is 400 at the top, in credits and in refill, and ignored in a rate limit", async () => {
      const unknown = [
        ["foo", { foo: 1 }],
        ["__proto__", JSON.parse('{"__proto__": {"name": "x"}}')],
        ["credits.foo", { credits: { remaining: 1, foo: 1 } }],
        ["credits.refill.foo", refill({ foo: 1 })],
      ] as const;
      for (const [place, fields] of unknown) {
        for (const [procedure, body] of [
          ["keys.createKey", createBody(fields)],
          ["keys.updateKey", updateBody(fields)],
        ] as const) {
          const error = expectError(await run.call(procedure, body), 400, "unkey/application/invalid_input");
          expect(error.errors?.map(({ location }) => location)).toEqual([`body.${place}`]);
        }
      }
      const { keyId } = await run.createKey({ apiId: of.apiId, ...limit({ id: "rl_12345678", comment: [1] }) });
      const { ratelimits } = await run.getKey(keyId);
      await run.data("keys.updateKey", { keyId, ratelimits });
      expect((await run.getKey(keyId)).ratelimits).toEqual(ratelimits);
    });
  });
});
