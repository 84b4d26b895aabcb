import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { KeySchema, RefillInterval } from "../../gen/latchkey/v2/common_pb.ts";
import { ExplainDataSchema, GrantVia, KeysService, VerificationCheck } from "../../gen/latchkey/v2/keys_pb.ts";
import { bodyOf } from "../../ui/src/data/code/snippets.ts";
import { expiryProblem } from "../../ui/src/data/drafts/expiryDraft.ts";
import { findable } from "../../ui/src/data/findable.ts";
import { durationText, localTimeText, readDuration, readJsonObject, readLocalTime } from "../../ui/src/data/readInput.ts";
import { actOnMany, type ManyProgress } from "../../ui/src/pages/apiDetail/actOnMany.ts";
import { createKeyRequest, emptyDraft, firstRefill, unreadableIn } from "../../ui/src/pages/apiDetail/createKeyDraft.ts";
import { keyChanges } from "../../ui/src/pages/keyDetail/keyChanges.ts";
import { isUntouched, type KeyDraft, requestOf, unreadable, untouched } from "../../ui/src/pages/keyDetail/keyDraft.ts";
import { creditsChanges, creditsProblem, creditsRequest } from "../../ui/src/pages/keyDetail/overview/creditsChange.ts";
import { directPermissions, permissionQueries, sourcesOf } from "../../ui/src/pages/keyDetail/permissionSources.ts";

const { updateKey, createKey } = KeysService.method;

const key = create(KeySchema, {
  keyId: "key_1",
  name: "before",
  enabled: true,
  credits: { remaining: 10n, refill: { interval: RefillInterval.DAILY, amount: 5n } },
  ratelimits: [{ id: "rl_1", name: "requests", limit: 100n, duration: 60_000n, autoApply: true }],
  permissions: ["a.read"],
});

const bodyFor = (draft: Partial<KeyDraft>) =>
  bodyOf({ method: updateKey, request: create(updateKey.input, requestOf("key_1", { ...untouched, ...draft })) });

const clear = { kind: "clear" } as const;
const set = <Value>(value: Value) => ({ kind: "set", value }) as const;

test("[console §3] kept fields are left out of the body, cleared ones are null", () => {
  expect(bodyFor({})).toEqual({ keyId: "key_1" });
  expect(isUntouched(untouched)).toBe(true);
  expect(bodyFor({ name: clear, externalId: clear, meta: clear, expires: clear, remaining: clear, ratelimits: clear })).toEqual({
    keyId: "key_1",
    name: null,
    externalId: null,
    meta: null,
    expires: null,
    credits: null,
    ratelimits: null,
  });
  expect(bodyFor({ refill: clear, roles: clear, permissions: clear })).toEqual({
    keyId: "key_1",
    credits: { refill: null },
    roles: [],
    permissions: [],
  });
});

test("[console §3] set fields are sent as the contract has them", () => {
  expect(
    bodyFor({
      meta: set('{"plan": "pro"}'),
      remaining: set("9,007,199,254,740,991"),
      refill: set({ interval: "monthly", amount: "7", refillDay: "31" } as const),
      ratelimits: set([{ name: "requests", limit: "20", duration: "2m", autoApply: false }]),
      roles: set("one\ntwo"),
    }),
  ).toEqual({
    keyId: "key_1",
    meta: { plan: "pro" },
    credits: { remaining: 9007199254740991, refill: { interval: "monthly", amount: 7, refillDay: 31 } },
    ratelimits: [{ name: "requests", limit: 20, duration: 120_000 }],
    roles: ["one", "two"],
  });
  expect(unreadable({ ...untouched, meta: set("[1]"), expires: set(""), remaining: set("1.5") }, 0)).toEqual({
    meta: expect.any(String),
    expires: expect.any(String),
    remaining: expect.any(String),
  });
});

test("[console §3] an expiry has to be a time in the future, in every form", () => {
  const now = new Date("2030-01-02T03:04").getTime();
  expect(expiryProblem("", now)).toBe("Expires must be a date and a time.");
  expect(expiryProblem("2030-01-02T03:04", now)).toBe("Expires must be in the future.");
  expect(expiryProblem("2030-01-02T03:05", now)).toBeUndefined();
  expect(unreadable({ ...untouched, expires: set("2030-01-02T03:03") }, now)).toEqual({ expires: "Expires must be in the future." });
  // A new key without one never expires.
  expect(unreadableIn({ ...emptyDraft, expires: "" }, now)).toEqual({});
  expect(unreadableIn({ ...emptyDraft, expires: "2030-01-02T03:03" }, now)).toEqual({ expires: "Expires must be in the future." });
});

test("[console §3] a balance needs an amount; only the choice of unlimited credits lifts it, and tells that the refill goes", () => {
  const { credits } = key;
  const balance = (operation: "set" | "increment" | "decrement", amount: string) => creditsChanges(credits, { operation, amount });
  for (const operation of ["set", "increment", "decrement"] as const) {
    expect(creditsProblem(credits, { operation, amount: " " })).toBe("Enter an amount.");
    expect(creditsProblem(credits, { operation, amount: "-1" })).toMatch(/whole number/);
    expect(creditsProblem(credits, { operation, amount: "ten" })).toMatch(/whole number/);
    expect(balance(operation, "")).toEqual([]);
    // Whatever "Show code" shows meanwhile, it is not an unlimited balance.
    expect(creditsRequest("key_1", { operation, amount: "" })).toMatchObject({ value: { kind: { case: "value", value: 0n } } });
  }
  expect(balance("set", "7")).toEqual([{ field: "credits.remaining", before: "10", after: "7" }]);
  expect(balance("increment", "5")).toEqual([{ field: "credits.remaining", before: "10", after: "15" }]);
  expect(balance("decrement", "20")).toEqual([{ field: "credits.remaining", before: "10", after: "0" }]);
  const lift = { operation: "unlimited", amount: "" } as const;
  expect(creditsChanges(credits, lift)).toEqual([
    { field: "credits.remaining", before: "10", after: "unlimited" },
    { field: "credits.refill", before: "5 daily", after: undefined },
  ]);
  expect(creditsRequest("key_1", lift)).toMatchObject({ value: { kind: { case: "null" } } });
  expect(creditsProblem(undefined, lift)).toMatch(/already/);
  expect(creditsProblem(undefined, { operation: "increment", amount: "5" })).toMatch(/unlimited: set it first/);
  expect(creditsChanges(undefined, { operation: "set", amount: "5" })).toEqual([
    { field: "credits.remaining", before: "unlimited", after: "5" },
  ]);
});

test("[console §3] before → after is read from the request itself", () => {
  const changes = (draft: Partial<KeyDraft>) => keyChanges(key, ["a.read"], requestOf("key_1", { ...untouched, ...draft }));
  expect(changes({})).toEqual([]);
  expect(changes({ name: set("before") })).toEqual([]);
  expect(changes({ name: clear, expires: clear })).toEqual([{ field: "name", before: "before", after: undefined }]);
  // Unlimited has no refill.
  expect(changes({ remaining: clear })).toEqual([
    { field: "credits.remaining", before: "10", after: "unlimited" },
    { field: "credits.refill", before: "5 daily", after: undefined },
  ]);
  expect(changes({ ratelimits: set([]) })).toEqual([
    { field: "ratelimits", before: "requests: 100 per 1m, always checked", after: undefined },
  ]);
  expect(keyChanges(key, ["a.read"], { keyId: "key_1", enabled: false, permissions: { values: ["a.read", "a.write"] } })).toEqual([
    { field: "enabled", before: "true", after: "false" },
    { field: "permissions", before: "a.read", after: "a.read, a.write" },
  ]);
});

test("a form for a new key sends what was filled in", () => {
  const body = (typed: Partial<typeof emptyDraft>) =>
    bodyOf({ method: createKey, request: create(createKey.input, createKeyRequest("api_1", { ...emptyDraft, ...typed })) });
  expect(body({})).toEqual({ apiId: "api_1" });
  expect(body({ remaining: "10", refill: { ...firstRefill, amount: "5" }, enabled: false, recoverable: true })).toEqual({
    apiId: "api_1",
    credits: { remaining: 10, refill: { interval: "daily", amount: 5 } },
    enabled: false,
    recoverable: true,
  });
});

test("durations are read as people write them, and written so that they are read alike", () => {
  for (const [text, duration] of [
    ["90s", 90_000n],
    ["15m", 900_000n],
    ["24h", 86_400_000n],
    ["60000", 60_000n],
    ["1500 ms", 1500n],
  ] as const) {
    expect(readDuration(text)).toBe(duration);
    expect(readDuration(durationText(duration))).toBe(duration);
  }
  expect(readDuration("")).toBeUndefined();
  for (const text of ["m", "1.5h", "3 weeks", "ms"]) expect(readDuration(text)).toBe("invalid");
});

test("a time goes into its field and comes back exactly", () => {
  for (const time of [0n, 1_790_000_000_123n, 4_000_000_000_000n, 1_790_000_040_000n])
    expect(readLocalTime(localTimeText(time))).toBe(time);
});

test("metadata is a JSON object or nothing", () => {
  expect(readJsonObject(' {"a": [1]} ')).toEqual({ a: [1] });
  expect(readJsonObject(" ")).toBeUndefined();
  for (const text of ["[1]", "null", '"a"', "{"]) expect(readJsonObject(text)).toBe("invalid");
});

test("[console §3] the source of each permission is asked for in queries that the service takes", () => {
  const slugs = Array.from({ length: 100 }, (_, index) => `permission.number.${index}`);
  const queries = permissionQueries([...slugs, "and"]);
  expect(queries.every((query) => query.length <= 1000)).toBe(true);
  expect(queries.flatMap((query) => query.split(" OR "))).toEqual(slugs);
});

test("[console §3] a key's own permissions are those that no role alone gives", () => {
  const grant = (slug: string, via: GrantVia) => ({ slug, via });
  const sources = sourcesOf([
    create(ExplainDataSchema, {
      steps: [
        {
          check: VerificationCheck.PERMISSIONS,
          facts: {
            permissions: [
              { permission: "a.read", grantedBy: [grant("a.*", GrantVia.KEY), grant("a.read", GrantVia.ROLE)] },
              { permission: "a.*", grantedBy: [grant("a.*", GrantVia.KEY)] },
            ],
          },
        },
      ],
    }),
  ]);
  // The source of "or" is unknown: an update must not remove it.
  expect(directPermissions(["a.read", "a.*", "or"], sources)).toEqual(["a.*", "or"]);
});

test("[console §3] acts on many keys: failures are listed, the others continue, and it can be stopped", async () => {
  const keys = ["key_1", "key_2", "key_3", "key_4"].map((keyId) => create(KeySchema, { keyId }));
  const told: ManyProgress[] = [];
  const run = ({ keyId }: { readonly keyId: string }): Promise<void> =>
    keyId === "key_2" ? Promise.reject(new Error("gone")) : Promise.resolve();
  await actOnMany(
    keys,
    run,
    () => told.length === 3,
    (progress) => told.push(progress),
  );
  expect(told.map(({ done, failed }) => [done, failed.map(({ key: { keyId } }) => keyId)])).toEqual([
    [1, []],
    [1, ["key_2"]],
    [2, ["key_2"]],
  ]);
});

test("[console §2.9] a text that may be a whole key goes only to the search for keys", () => {
  expect(findable("acme_3ZVbqeHVyKTr3oZ8Vd4VQp")).toEqual({ mayBeSecret: true, mayBeName: false });
  expect(findable("key_123456789ABCDEFGHJKLMNPQ")).toEqual({ mayBeSecret: false, mayBeName: false });
  expect(findable("a customer with a long name")).toEqual({ mayBeSecret: false, mayBeName: true });
});
