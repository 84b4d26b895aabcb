import { beforeAll, describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";

const FAR = 4_102_444_800_000;
const REFILL = { interval: "monthly", amount: 5, refillDay: 31 };
const LIMITS = [
  { name: "requests", limit: 10, duration: 1000 },
  { name: "tokens", limit: 20, duration: 60_000 },
];

type Fields = Readonly<Record<string, unknown>>;
/** A row of keys §3: what is sent, and what it changes in getKey and in verifyKey (undefined = absent); the rest stays. */
type Row = readonly [behaviour: string, change: Fields, shown: Fields, verified: Fields];

const limits = (...items: readonly object[]): unknown =>
  items.map((item) => expect.objectContaining({ ...item, id: expect.stringMatching(/^rl_/) }));
const expired = { valid: false, code: "EXPIRED" };

/** Applied to a key on which every field is set. */
const rows: readonly Row[] = [
  ["keyId alone changes nothing but updatedAt", {}, {}, {}],
  ["null removes the name", { name: null }, { name: undefined }, { name: undefined }],
  ["a name replaces the name", { name: "second" }, { name: "second" }, { name: "second" }],
  ["null disconnects the identity", { externalId: null }, { identity: undefined }, { identity: undefined }],
  ["null removes the meta", { meta: null }, { meta: undefined }, { meta: undefined }],
  ["an empty meta is stored and read back as absent", { meta: {} }, { meta: undefined }, { meta: undefined }],
  ["meta is replaced as a whole, never merged", { meta: { b: { c: 2 } } }, { meta: { b: { c: 2 } } }, { meta: { b: { c: 2 } } }],
  ["null makes the key permanent", { expires: null }, { expires: undefined }, { expires: undefined }],
  ["expires 0 means expired now", { expires: 0 }, { expires: 0 }, { expires: 0, ...expired }],
  ["expires in the past means expired now", { expires: 1 }, { expires: 1 }, { expires: 1, ...expired }],
  ["a later expires is kept", { expires: FAR - 1 }, { expires: FAR - 1 }, { expires: FAR - 1 }],
  ["null credits make the key unlimited, without refill", { credits: null }, { credits: undefined }, { credits: undefined }],
  ["empty credits change nothing", { credits: {} }, {}, {}],
  [
    "null remaining makes the key unlimited, without refill",
    { credits: { remaining: null } },
    { credits: undefined },
    { credits: undefined },
  ],
  [
    "null remaining and null refill make the key unlimited",
    { credits: { remaining: null, refill: null } },
    { credits: undefined },
    { credits: undefined },
  ],
  [
    "remaining 0 exhausts the key and keeps the refill",
    { credits: { remaining: 0 } },
    { credits: { remaining: 0, refill: REFILL } },
    { credits: 0 },
  ],
  ["a new balance keeps the refill", { credits: { remaining: 9 } }, { credits: { remaining: 9, refill: REFILL } }, { credits: 9 }],
  ["null refill removes the refill and keeps the balance", { credits: { refill: null } }, { credits: { remaining: 7 } }, {}],
  ["a new balance and null refill together", { credits: { remaining: 8, refill: null } }, { credits: { remaining: 8 } }, { credits: 8 }],
  [
    "a refill is replaced whole: monthly to daily drops the day",
    { credits: { refill: { interval: "daily", amount: 2 } } },
    { credits: { remaining: 7, refill: { interval: "daily", amount: 2 } } },
    {},
  ],
  [
    "a balance and a refill together",
    { credits: { remaining: 1, refill: { interval: "MONTHLY", amount: 3, refillDay: 1 } } },
    { credits: { remaining: 1, refill: { interval: "monthly", amount: 3, refillDay: 1 } } },
    { credits: 1 },
  ],
  ["null removes all rate limits", { ratelimits: null }, { ratelimits: undefined }, {}],
  ["an empty list removes all rate limits", { ratelimits: [] }, { ratelimits: undefined }, {}],
  [
    "rate limits replace the set",
    { ratelimits: [{ name: "other", limit: 1, duration: 2000 }] },
    { ratelimits: limits({ name: "other", limit: 1, duration: 2000, autoApply: false }) },
    {},
  ],
  ["enabled false disables", { enabled: false }, { enabled: false }, { enabled: false, valid: false, code: "DISABLED" }],
  ["enabled true changes nothing on an enabled key", { enabled: true }, {}, {}],
  [
    "an empty list removes all roles, and what they granted",
    { roles: [] },
    { roles: undefined, permissions: ["direct.a", "direct.b"] },
    { roles: undefined, permissions: ["direct.a", "direct.b"] },
  ],
  [
    "an empty list removes all direct permissions, not those of roles",
    { permissions: [] },
    { permissions: ["of.role"] },
    { permissions: ["of.role"] },
  ],
  [
    "roles replace the set",
    { roles: ["other"] },
    { roles: ["other"], permissions: ["direct.a", "direct.b", "of.other"] },
    { roles: ["other"], permissions: ["direct.a", "direct.b", "of.other"] },
  ],
  [
    "permissions replace the direct ones",
    { permissions: ["new.one"] },
    { permissions: ["new.one", "of.role"] },
    { permissions: ["new.one", "of.role"] },
  ],
  [
    "everything can be removed at once",
    { name: null, externalId: null, meta: null, expires: null, credits: null, ratelimits: null, roles: [], permissions: [] },
    {
      name: undefined,
      identity: undefined,
      meta: undefined,
      expires: undefined,
      credits: undefined,
      ratelimits: undefined,
      roles: undefined,
      permissions: undefined,
    },
    {
      name: undefined,
      identity: undefined,
      meta: undefined,
      expires: undefined,
      credits: undefined,
      roles: undefined,
      permissions: undefined,
    },
  ],
];

/** Applied to a key on which nothing is set. */
const rowsOnBare: readonly Row[] = [
  ["null removes what is not there", { name: null, externalId: null, meta: null, expires: null, credits: null, ratelimits: null }, {}, {}],
  ["a name is set", { name: "first" }, { name: "first" }, { name: "first" }],
  ["a balance makes an unlimited key limited", { credits: { remaining: 4 } }, { credits: { remaining: 4 } }, { credits: 4 }],
  ["a null refill of an unlimited key changes nothing", { credits: { refill: null } }, {}, {}],
  [
    "a balance and a refill make an unlimited key limited",
    { credits: { remaining: 4, refill: REFILL } },
    { credits: { remaining: 4, refill: REFILL } },
    { credits: 4 },
  ],
  [
    "rate limits, roles, permissions, meta and expires are set",
    { ratelimits: LIMITS, roles: ["editor"], permissions: ["direct.a"], meta: { a: [null] }, expires: FAR },
    { ratelimits: limits(...LIMITS), roles: ["editor"], permissions: ["direct.a", "of.role"], meta: { a: [null] }, expires: FAR },
    { roles: ["editor"], permissions: ["direct.a", "of.role"], meta: { a: [null] }, expires: FAR },
  ],
  [
    "unknown permissions are created",
    { permissions: ["auto.a", "auto.b"] },
    { permissions: ["auto.a", "auto.b"] },
    { permissions: ["auto.a", "auto.b"] },
  ],
  [
    "repeated items count once",
    { permissions: ["twice.a", "TWICE.A", "twice.a"], roles: ["editor", "editor"] },
    { permissions: ["of.role", "twice.a"], roles: ["editor"] },
    { permissions: ["of.role", "twice.a"], roles: ["editor"] },
  ],
];

/** `object` with `patch` applied; undefined takes a property away. */
const patched = (object: Fields, patch: Fields): Fields =>
  Object.fromEntries(Object.entries({ ...object, ...patch }).filter(([, value]) => value !== undefined));

everywhere((run) => {
  beforeAll(async () => {
    // The second edge finds them made.
    await run.call("permissions.createRole", { name: "editor", permissions: ["of.role"] });
    await run.call("permissions.createRole", { name: "other", permissions: ["of.other"] });
  });
  const look = async (keyId: string, key: string): Promise<readonly [Fields, Fields]> => {
    // `lastUsedAt` follows verifications in its own time.
    const { lastUsedAt: _lastUsedAt, ...shown } = await run.getKey(keyId);
    return [shown, await run.verify(key, { credits: { cost: 0 } })];
  };
  const applies = async (created: Fields, [, change, shown, verified]: Row): Promise<void> => {
    const { keyId, key } = await run.createKey(created);
    const [shownBefore, verifiedBefore] = await look(keyId, key);
    expect(await run.data("keys.updateKey", { keyId, ...change })).toEqual({});
    const [shownAfter, verifiedAfter] = await look(keyId, key);
    expect(shownAfter).toEqual(patched(shownBefore, { updatedAt: expect.any(Number), ...shown }));
    expect(verifiedAfter).toEqual(patched(verifiedBefore, verified));
  };

  describe("a key with every field set", () => {
    test.each(rows)("[keys §3] %s", async (...row) => {
      await applies(
        {
          prefix: "full",
          name: "first",
          externalId: "user_1",
          meta: { a: 1 },
          expires: FAR,
          credits: { remaining: 7, refill: REFILL },
          ratelimits: LIMITS,
          roles: ["editor"],
          permissions: ["direct.a", "direct.b"],
        },
        row,
      );
    });
  });

  describe("a key with nothing set", () => {
    test.each(rowsOnBare)("[keys §3] %s", async (...row) => applies({}, row));
  });

  describe("identities", () => {
    test("[keys §3] null disconnects, and the identity itself stays to be linked again", async () => {
      const externalId = run.unique("user");
      const { keyId, key } = await run.createKey({ externalId });
      const { identity } = await run.getKey(keyId);
      await run.data("keys.updateKey", { keyId, externalId: null });
      expect(await run.getKey(keyId)).not.toHaveProperty("identity");
      await run.data("keys.updateKey", { keyId, externalId });
      expect(await run.getKey(keyId)).toMatchObject({ identity });
      expect(await run.verify(key)).toMatchObject({ identity });
    });

    test("[keys §3] another externalId moves the key to that identity, made if it is new", async () => {
      const [first, second] = [run.unique("user"), run.unique("user")];
      const { keyId, key } = await run.createKey({ externalId: first });
      await run.data("keys.updateKey", { keyId, externalId: second });
      const { identity } = await run.getKey(keyId);
      expect(identity).toEqual({ id: expect.stringMatching(/^id_/), externalId: second });
      expect(await run.verify(key)).toMatchObject({ identity });
      await run.data("keys.updateKey", { keyId, externalId: second });
      expect(await run.getKey(keyId)).toMatchObject({ identity });
    });
  });

  describe("rate limits", () => {
    test("[keys §3] a name that stays keeps its id, a missing one is deleted, a new one gets a new id", async () => {
      const { keyId } = await run.createKey({ ratelimits: LIMITS });
      const idsOf = async (): Promise<Map<string, string>> => {
        const { ratelimits } = (await run.getKey(keyId)) as { ratelimits: { name: string; id: string }[] };
        return new Map(ratelimits.map(({ name, id }) => [name, id]));
      };
      const before = await idsOf();
      const changed = { name: "requests", limit: 99, duration: 5000, autoApply: true };
      await run.data("keys.updateKey", { keyId, ratelimits: [{ name: "added", limit: 1, duration: 1000 }, changed] });
      const after = await idsOf();
      expect([...after.keys()].sort()).toEqual(["added", "requests"]);
      expect(after.get("requests")).toBe(before.get("requests"));
      expect((await run.getKey(keyId)).ratelimits).toContainEqual({ ...changed, id: before.get("requests") });
      await run.data("keys.updateKey", { keyId, ratelimits: LIMITS });
      expect((await idsOf()).get("tokens")).not.toBe(before.get("tokens"));
    });

    test("[keys §3] replaced fields apply to the next verification, and a removed limit cannot be named", async () => {
      const { keyId, key } = await run.createKey({ ratelimits: [{ name: "requests", limit: 1, duration: FAR, autoApply: true }] });
      expect(await run.verify(key)).toMatchObject({ code: "VALID" });
      expect(await run.verify(key)).toMatchObject({ code: "RATE_LIMITED" });
      await run.data("keys.updateKey", { keyId, ratelimits: null });
      expect(await run.verify(key)).toMatchObject({ code: "VALID" });
      const named = { key, ratelimits: [{ name: "requests" }] };
      expectError(await run.call("keys.verifyKey", named), 412, "unkey/application/precondition_failed");
    });

    test("[keys §3] re-adding a name within its window does not reset its counter, raising the limit keeps the count", async () => {
      const requests = (most: number): Fields => ({ ratelimits: [{ name: "requests", limit: most, duration: FAR, autoApply: true }] });
      const { keyId, key } = await run.createKey(requests(2));
      expect(await run.verify(key)).toMatchObject({ code: "VALID" });
      await run.data("keys.updateKey", { keyId, ratelimits: [] });
      await run.data("keys.updateKey", { keyId, ...requests(2) });
      expect(await run.verify(key)).toMatchObject({ code: "VALID", ratelimits: [{ remaining: 0 }] });
      expect(await run.verify(key)).toMatchObject({ code: "RATE_LIMITED" });
      await run.data("keys.updateKey", { keyId, ...requests(4) });
      expect(await run.verify(key)).toMatchObject({ code: "VALID", ratelimits: [{ limit: 4, remaining: 1 }] });
    });
  });

  describe("unchanged fields", () => {
    test("[keys §3] createdAt, start, the secret and the API never change, updatedAt appears and never falls", async () => {
      const { keyId, key, apiId } = await run.createKey({ prefix: "same" });
      const before = await run.getKey(keyId);
      expect(before).not.toHaveProperty("updatedAt");
      await run.data("keys.updateKey", { keyId });
      const touched = (await run.getKey(keyId)).updatedAt as number;
      expect(touched).toBeGreaterThanOrEqual(before.createdAt as number);
      await run.data("keys.updateKey", { keyId, name: "again" });
      const after = await run.getKey(keyId);
      expect(after).toMatchObject({ createdAt: before.createdAt, start: before.start });
      expect(after.updatedAt).toBeGreaterThanOrEqual(touched);
      expect(await run.verify(key)).toMatchObject({ valid: true, keyId, keyspaceId: apiId });
    });

    test("[keys §3] a replaced permission stays defined in the workspace", async () => {
      const slug = run.unique("kept");
      const { keyId } = await run.createKey({ permissions: [slug] });
      await run.data("keys.updateKey", { keyId, permissions: [] });
      expectError(await run.call("permissions.createPermission", { name: "again", slug }), 409, "permission_already_exists");
    });
  });
});
