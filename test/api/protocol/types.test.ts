// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { expectEnvelope, type HttpAnswer, request } from "../../support/envelope.ts";
import { engines } from "../../support/stores.ts";

const largest = 9_007_199_254_740_991;

describe.each(engines)("[protocol §4] on $name", (engine) => {
  let api: Api;
  let apiId: string;
  const post = (procedure: string, body: unknown): Promise<HttpAnswer> => request(api.url, procedure, { rootKey: api.rootKey, body });
  const data = async (procedure: string, body: unknown): Promise<Record<string, unknown>> => dataOf(await post(procedure, body));
  /** A key from JSON text: `fields` is put into the body as it is written. */
  const createKey = async (fields = ""): Promise<string> =>
    (await data("keys.createKey", `{"apiId":"${apiId}"${fields && `,${fields}`}}`)).keyId as string;
  const getKey = (keyId: string): Promise<Record<string, unknown>> => data("keys.getKey", { keyId });

  beforeAll(async () => {
    api = await startApi(engine);
    apiId = (await data("apis.createApi", { name: "types" })).apiId as string;
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  test("integers are JSON numbers in both directions, also the largest", async () => {
    const credits = `"credits":{"remaining":${largest},"refill":{"interval":"daily","amount":${largest}}}`;
    const ratelimits = `"ratelimits":[{"name":"requests","limit":${largest},"duration":${largest}}]`;
    const keyId = await createKey(`${credits},${ratelimits},"expires":4102444800000`);
    const { text } = await post("keys.getKey", { keyId });
    expect(text).toContain(`"credits":{"remaining":${largest},"refill":{"interval":"daily","amount":${largest}}}`);
    expect(text).toContain(`"limit":${largest},"duration":${largest}`);
    expect(text).toContain('"expires":4102444800000');
    expect(text).toMatch(/"createdAt":\d{13}[,}]/);
  });

  test.each([
    ["16", 16],
    ["16.0", 16],
    ["1.6e1", 16],
    ["1.6E+1", 16],
    ["160e-1", 16],
    ["2e1", 20],
    ["0.255e3", 255],
  ])("%s is an integer", async (written, value) => {
    const keyId = await createKey(`"byteLength":${written},"credits":{"remaining":${written}}`);
    expect((await getKey(keyId)).credits).toEqual({ remaining: value });
  });

  test("minus zero is zero", async () => {
    const { text } = await post("keys.getKey", { keyId: await createKey('"credits":{"remaining":-0},"expires":-0.0') });
    expect(text).toContain('"credits":{"remaining":0}');
    expect(text).toContain('"expires":0');
  });

  test.each([
    "9007199254740992",
    "9007199254740993",
    "9223372036854775807",
    "1e16",
    "1e300",
    "1e400",
    "-1e400",
    "-1",
    "0.5",
    "1e-1",
    '"5"',
  ])("%s is no balance: never rounded", async (written) => {
    const answer = await post("keys.createKey", `{"apiId":"${apiId}","credits":{"remaining":${written}}}`);
    const error = expectError(answer, 400, "unkey/application/invalid_input");
    expect(error.errors?.map(({ location }) => location)).toEqual(["body.credits.remaining"]);
  });

  test("numbers without a decimal form are no JSON", async () => {
    for (const written of ["+1", "01", ".5", "1.", "0x10", "Infinity", "1n", "1_000"]) {
      const answer = await post("keys.createKey", `{"apiId":"${apiId}","byteLength":${written}}`);
      expect(expectError(answer, 400, "unkey/application/invalid_input").errors).toMatchObject([{ location: "body" }]);
    }
  });

  test("times are Unix milliseconds of the server", async () => {
    const before = Date.now();
    const keyId = await createKey();
    await data("keys.updateKey", { keyId, name: "changed" });
    const { createdAt, updatedAt } = (await getKey(keyId)) as { createdAt: number; updatedAt: number };
    expect([createdAt >= before, updatedAt >= createdAt, updatedAt <= Date.now()]).toEqual([true, true, true]);
  });

  test("refill intervals are accepted in both spellings and returned in lower case", async () => {
    for (const [written, shown] of [
      ["daily", "daily"],
      ["DAILY", "daily"],
      ["monthly", "monthly"],
      ["MONTHLY", "monthly"],
    ]) {
      const refillDay = shown === "monthly" ? ',"refillDay":1' : "";
      const keyId = await createKey(`"credits":{"remaining":1,"refill":{"interval":"${written}","amount":2${refillDay}}}`);
      expect((await getKey(keyId)).credits).toMatchObject({ refill: { interval: shown } });
    }
  });

  test.each([
    ["keys.createKey", "interval", '{"apiId":"API","credits":{"remaining":1,"refill":{"interval":VALUE,"amount":1}}}'],
    ["keys.updateCredits", "operation", '{"keyId":"key_1","operation":VALUE,"value":1}'],
  ])("%s refuses other spellings of %s", async (procedure, field, template) => {
    for (const value of ['"Daily"', '"weekly"', '"SET"', '"Increment"', '"REFILL_INTERVAL_DAILY"', '"daily "', "1", "null", '""', "true"]) {
      const answer = await post(procedure, template.replace("API", apiId).replace("VALUE", value));
      const error = expectError(answer, 400, "unkey/application/invalid_input");
      expect([value, error.errors?.at(0)?.location]).toEqual([value, expect.stringMatching(new RegExp(`\\.${field}$`))]);
    }
  });

  test("an optional field without value is absent, not null; only credits.remaining may be null", async () => {
    const keyId = await createKey('"meta":{},"roles":[],"permissions":[],"ratelimits":[],"enabled":true');
    const { text, body } = await post("keys.getKey", { keyId });
    expect(Object.keys(body.data as object).sort()).toEqual(["createdAt", "enabled", "keyId", "start"]);
    expect(text).not.toContain("null");
    expect(await data("keys.updateCredits", { keyId, operation: "set", value: null })).toEqual({ remaining: null });
    expect(await data("keys.updateCredits", { keyId, operation: "set", value: 3 })).toEqual({ remaining: 3 });
    expect(await data("keys.setPermissions", { keyId, permissions: [] })).toEqual([]);
    expect(await data("keys.setRoles", { keyId, roles: [] })).toEqual([]);
  });

  test("procedures without a result answer with empty data", async () => {
    const keyId = await createKey();
    expect(await data("keys.updateKey", { keyId })).toEqual({});
    expect(await data("keys.deleteKey", { keyId })).toEqual({});
    const { apiId: other } = await data("apis.createApi", { name: "other" });
    expect(await data("apis.deleteApi", { apiId: other })).toEqual({});
  });

  test("ids are a prefix and letters and digits, at most 255 characters, never the same twice", async () => {
    const namespace = `ids ${crypto.randomUUID()}`;
    await data("ratelimit.limit", { namespace, identifier: "x", limit: 1, duration: 1000 });
    const { permissionId } = await data("permissions.createPermission", { name: "x", slug: `ids.${crypto.randomUUID()}` });
    const { roleId } = await data("permissions.createRole", { name: `ids.${crypto.randomUUID()}` });
    const created = await post("keys.createKey", { apiId, externalId: "ids", ratelimits: [{ name: "ids", limit: 1, duration: 1000 }] });
    const { keyId } = dataOf(created);
    const shown = (await getKey(keyId as string)) as { identity: { id: string }; ratelimits: { id: string }[] };
    const { _id: namespaceId } = (await api.store.collection("namespaces").findOne({ name: namespace })) ?? {};
    const ids = {
      req: created.body.meta.requestId,
      api: apiId,
      key: keyId,
      id: shown.identity.id,
      rl: shown.ratelimits[0]?.id,
      perm: permissionId,
      role: roleId,
      rlns: namespaceId,
    };
    for (const [prefix, id] of Object.entries(ids)) expect(id).toMatch(new RegExp(`^${prefix}_[A-Za-z0-9]{16,250}$`));
    const many = await Promise.all(Array.from({ length: 50 }, () => createKey()));
    expect(new Set(many).size).toBe(50);
    expectError(await post("keys.getKey", { keyId: (keyId as string).toUpperCase() }), 404, "unkey/data/key_not_found");
  });

  test("a 4xx and a success are envelopes with these keys and no others", async () => {
    expectEnvelope(await post("apis.getApi", { apiId }));
    expectEnvelope(await post("apis.getApi", { apiId: "api_unknown" }));
    expectEnvelope(await post("apis.getApi", {}));
  });
});
