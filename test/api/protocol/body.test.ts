// @same-on-every-engine
import { connect as connectTcp } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { expectEnvelope, type HttpAnswer, request } from "../../support/envelope.ts";
import { engines } from "../../support/stores.ts";

/** `{"a":{"a":…1…}}` with this many objects. */
const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

describe.each(engines)("[protocol §3] on $name", (engine) => {
  let api: Api;
  let apiId: string;
  const post = (procedure: string, body: unknown): Promise<HttpAnswer> => request(api.url, procedure, { rootKey: api.rootKey, body });
  const data = async (procedure: string, body: unknown): Promise<Record<string, unknown>> => dataOf(await post(procedure, body));
  const createKey = async (fields: object = {}): Promise<string> => (await data("keys.createKey", { apiId, ...fields })).keyId as string;
  const getKey = (keyId: string): Promise<Record<string, unknown>> => data("keys.getKey", { keyId });
  /** Locations of the violations of a 400, each once. */
  const violations = async (procedure: string, body: unknown): Promise<string[]> => {
    const answer = await post(procedure, body);
    expectEnvelope(answer);
    const { errors = [] } = expectError(answer, 400, "unkey/application/invalid_input");
    return [...new Set(errors.map(({ location }) => location))].sort();
  };

  beforeAll(async () => {
    api = await startApi(engine);
    apiId = (await data("apis.createApi", { name: "bodies" })).apiId as string;
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  test("white space is fine anywhere", async () => {
    await data("apis.createApi", ' \r\n\t{ \n"name"\t:\r"white space" } \n');
  });

  test.each([
    ["nothing", ""],
    ["white space", " \n"],
    ["malformed JSON", '{"name":}'],
    ["half an object", '{"name":"payments"'],
    ["a second value", '{"name":"payments"}{}'],
    ["a trailing comma", '{"name":"payments",}'],
    ["a comment", '{"name":"payments"/* */}'],
    ["single quotes", "{'name':'payments'}"],
    ["NaN", '{"name":NaN}'],
    ["a raw control character", '{"name":"a\nbc"}'],
    ["a byte order mark", '\ufeff{"name":"payments"}'],
    ["bytes that are no UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d])],
    ["an overlong encoding", new Uint8Array([...Buffer.from('{"name":"abc'), 0xc0, 0xaf, ...Buffer.from('"}')])],
    ["UTF-16", Buffer.from('{"name":"payments"}', "utf16le")],
  ])("%s is one violation at body, with what to do about it", async (_, body) => {
    const answer = await post("apis.createApi", body);
    expectEnvelope(answer);
    const error = expectError(answer, 400, "unkey/application/invalid_input");
    expect(error.errors).toEqual([{ location: "body", message: expect.any(String), fix: expect.any(String) }]);
  });

  test("unknown fields of nested objects are refused, where they are", async () => {
    const keyId = await createKey();
    const refill = { interval: "daily", amount: 1, extra: 1 };
    expect(await violations("keys.createKey", { apiId, foo: 1, credits: { remaining: 1, extra: 1, refill } })).toEqual([
      "body.credits.extra",
      "body.credits.refill.extra",
      "body.foo",
    ]);
    expect(await violations("keys.updateKey", { keyId, credits: { extra: null } })).toEqual(["body.credits.extra"]);
    expect(await violations("keys.verifyKey", { key: "x", credits: { cost: 1, extra: 1 } })).toEqual(["body.credits.extra"]);
    expect(await violations("keys.createKey", { apiId, Name: "x", NAME: "x" })).toEqual(["body.NAME", "body.Name"]);
  });

  test("unknown fields are ignored in items of ratelimits, so that what was read can be sent back", async () => {
    const item = { name: "requests", limit: 10, duration: 1000, autoApply: true };
    const keyId = await createKey({ ratelimits: [{ ...item, id: "rl_mine", foo: [1] }] });
    const { ratelimits } = await getKey(keyId);
    expect(ratelimits).toEqual([{ ...item, id: expect.stringMatching(/^rl_/) }]);
    await data("keys.updateKey", { keyId, ratelimits });
    expect((await getKey(keyId)).ratelimits).toEqual(ratelimits);
  });

  test("a required field is never satisfied by inheritance", async () => {
    expect(await violations("apis.createApi", '{"__proto__":{"name":"payments"}}')).toEqual(["body.__proto__", "body.name"]);
    expect(await violations("keys.updateKey", '{"constructor":{"keyId":"key_1"}}')).toEqual(["body.constructor", "body.keyId"]);
  });

  test.each([
    ["a text", '"text"', ["enabled", "byteLength", "expires", "credits", "ratelimits", "roles", "meta"]],
    ["a number in quotes", '"16"', ["byteLength", "expires"]],
    ["a boolean in quotes", '"true"', ["enabled", "recoverable"]],
    ["a number", "16", ["enabled", "name", "prefix", "externalId", "credits", "ratelimits", "roles", "permissions", "meta"]],
    ["a boolean", "true", ["name", "byteLength", "expires", "meta", "ratelimits"]],
    ["an array", "[]", ["name", "byteLength", "enabled", "meta", "credits"]],
    ["an object", "{}", ["name", "byteLength", "enabled", "ratelimits", "roles"]],
    [
      "null",
      "null",
      ["name", "prefix", "byteLength", "externalId", "meta", "expires", "credits", "ratelimits", "roles", "permissions", "enabled"],
    ],
  ])("%s is not made into another type", async (_, json, fields) => {
    const body = `{"apiId":${JSON.stringify(apiId)},${fields.map((field) => `"${field}":${json}`).join(",")}}`;
    const found = await violations("keys.createKey", body);
    expect(found.map((location) => /^body\.(\w+)/.exec(location)?.[1])).toEqual(expect.arrayContaining([...fields]));
    expect(new Set(found.map((location) => /^body\.(\w+)/.exec(location)?.[1])).size).toBe(fields.length);
  });

  test("empty lists, texts and objects are values, not omission", async () => {
    expect(await violations("keys.createKey", { apiId, name: "", prefix: "", externalId: "", credits: {} })).toEqual([
      "body.credits.remaining",
      "body.externalId",
      "body.name",
      "body.prefix",
    ]);
    const keyId = await createKey({ roles: [], permissions: ["docs.read"], ratelimits: [], meta: {} });
    await data("keys.updateKey", { keyId, permissions: [] });
    expect((await getKey(keyId)).permissions).toBeUndefined();
  });

  test("the last of several properties of one name counts, whatever the others contain", async () => {
    const { apiId: id } = await data("apis.createApi", '{"name":5,"name":"first","name":"the last"}');
    expect((await data("apis.getApi", { apiId: id })).name).toBe("the last");
    expect(await violations("apis.createApi", '{"name":"payments","name":1}')).toEqual(["body.name"]);
  });

  test("meta of sixty levels comes back; endless nesting is 400, wherever it is", async () => {
    const deep = JSON.parse(nested(60));
    expect((await getKey(await createKey({ meta: deep }))).meta).toEqual(deep);
    for (const levels of [5_000, 200_000]) {
      const key = `{"apiId":"${apiId}",`;
      expect(await violations("keys.createKey", `${key}"meta":${nested(levels)}}`)).toHaveLength(1);
      expect(await violations("keys.createKey", `${key}"name":${nested(levels)}}`)).toHaveLength(1);
      expect(await violations("keys.createKey", `${key}"unknown":${nested(levels)}}`)).toHaveLength(1);
      expect(await violations("keys.createKey", `${key}"roles":${"[".repeat(levels)}${"]".repeat(levels)}}`)).toHaveLength(1);
      expect(await violations("apis.createApi", "[".repeat(levels))).toEqual(["body"]);
      expect(await violations("apis.createApi", nested(levels))).toHaveLength(2);
    }
  });

  test("meta comes back deep-equal, whatever its property names", async () => {
    const meta = JSON.parse(
      `{"":"empty","a.b":1,"$set":{"$inc":{"x.y":null}},"__proto__":{"polluted":true},"constructor":[],"toString":"","0":0,
      "\\u0000":"\\u0000","é":"e\\u0301","n":[1,-0.5,1e21,123456789012345680000,true,false,null,{}],"𝕏":{"deep":[[[]]]}}`,
    ) as Record<string, unknown>;
    const keyId = await createKey({ meta });
    expect((await getKey(keyId)).meta).toEqual(meta);
    expect(Object.hasOwn((await getKey(keyId)).meta as object, "__proto__")).toBe(true);
    await data("keys.updateKey", { keyId, meta: { other: meta } });
    expect((await getKey(keyId)).meta).toEqual({ other: meta });
  });

  test.each([
    ["blanks around it", "  name \t\n"],
    ["combining characters", "re\u0301sume\u0301 e\u0301"],
    ["what NFKC would change", "ﬁ Å ①"],
    ["both directions of writing", "שלום hello مرحبا"],
    ["characters beyond the BMP", "🔑👩‍👩‍👧"],
    ["a zero-width joiner and a BOM", "\ufeffa\u200db"],
  ])("text with %s is stored and compared exactly", async (_, name) => {
    expect((await getKey(await createKey({ name }))).name).toBe(name);
    const role = `${name}${crypto.randomUUID()}`;
    await data("permissions.createRole", { name: role });
    expect((await getKey(await createKey({ roles: [role] }))).roles).toEqual([role]);
    for (const other of [role.normalize("NFC"), role.normalize("NFD"), role.normalize("NFKC"), role.trim()]) {
      if (other === role) continue;
      expectError(await post("keys.createKey", { apiId, roles: [other] }), 404, "unkey/data/role_not_found");
    }
  });

  test("lengths count code points, not UTF-16 units", async () => {
    const name = "🔑".repeat(255);
    expect((await getKey(await createKey({ name }))).name).toBe(name);
    expect(await violations("keys.createKey", { apiId, name: `${name}🔑` })).toEqual(["body.name"]);
    expect(await violations("apis.createApi", { name: "🔑🔑" })).toEqual(["body.name"]);
  });

  test("U+0000 and lone surrogates are stored or 400, in every text", async () => {
    const keyId = await createKey();
    for (const odd of ["\\u0000", "\\ud800", "\\udc00", "a\\ud83dz", "\\udfff\\ud800"]) {
      const text = `"odd ${odd} text"`;
      const bodies: readonly (readonly [string, string])[] = [
        ["apis.createApi", `{"name":${text}}`],
        ["keys.createKey", `{"apiId":"${apiId}","name":${text}}`],
        ["keys.createKey", `{"apiId":"${apiId}","meta":{${text}:${text}}}`],
        ["keys.createKey", `{"apiId":"${apiId}","externalId":${text},"roles":[${text}],"permissions":[${text}]}`],
        ["keys.createKey", `{"apiId":"${apiId}","ratelimits":[{"name":${text},"limit":1,"duration":1000}]}`],
        ["keys.createKey", `{"apiId":"${apiId}",${text}:1}`],
        ["keys.updateKey", `{"keyId":"${keyId}","name":${text},"meta":{${text}:${text}}}`],
        ["keys.getKey", `{"keyId":${text}}`],
        ["keys.verifyKey", `{"key":${text},"tags":[${text}]}`],
        ["keys.verifyKey", `{"key":"x","permissions":${text},"ratelimits":[{"name":${text}}]}`],
        ["keys.whoami", `{"key":${text}}`],
        ["permissions.createPermission", `{"name":${text},"slug":"odd.${crypto.randomUUID()}","description":${text}}`],
        ["permissions.createRole", `{"name":${text.replace("text", crypto.randomUUID())},"description":${text}}`],
        ["ratelimit.limit", `{"namespace":${text},"identifier":${text},"limit":1,"duration":1000}`],
      ];
      for (const [procedure, body] of bodies) {
        const answer = await post(procedure, body);
        expectEnvelope(answer);
        expect([procedure, body, answer.status >= 500]).toEqual([procedure, body, false]);
      }
    }
    expect((await getKey(keyId)).keyId).toBe(keyId);
  });

  test("a pattern is about the whole text: a trailing newline does not match", async () => {
    expect(await violations("permissions.createPermission", { name: "x", slug: "docs.read\n" })).toEqual(["body.slug"]);
    expect(await violations("keys.createKey", { apiId: `${apiId}\n`, prefix: "a\n", externalId: "u\n" })).toEqual([
      "body.apiId",
      "body.externalId",
      "body.prefix",
    ]);
  });
});

describe.each(engines)("[protocol §3] sizes on $name", (engine) => {
  const limit = 2_048;
  afterAll(() => engine.close());

  /** A valid body of exactly this many bytes. */
  const sized = (bytes: number): string => `${" ".repeat(bytes - 15)}{"name":"sized"}`.slice(1);

  test.each([
    ["MAX_BODY_BYTES", { MAX_BODY_BYTES: String(limit) }, limit],
    ["the default", {}, 10_485_760],
  ])("a body of exactly %s is accepted, one more byte is 413 that names the limit", async (_, env, bytes) => {
    const api = await startApi(engine, { env });
    try {
      for (const [size, status] of [
        [bytes, 200],
        [bytes + 1, 413],
        [2 * bytes, 413],
      ] as const) {
        const body = sized(size);
        expect(Buffer.byteLength(body)).toBe(size);
        const answer = await request(api.url, "apis.createApi", { rootKey: api.rootKey, body });
        expectEnvelope(answer);
        expect([size, answer.status]).toEqual([size, status]);
        if (status === 200) continue;
        const error = expectError(answer, 413, "user/bad_request/request_body_too_large");
        expect(error).toMatchObject({ title: "Request Entity Too Large", errors: [] });
        expect(error.detail).toContain(String(bytes));
      }
    } finally {
      await api.close();
    }
  });

  test("a client that is still sending gets to read the 413", async () => {
    const api = await startApi(engine, { env: { MAX_BODY_BYTES: String(limit) } });
    try {
      const socket = connectTcp(Number(new URL(api.url).port), "127.0.0.1");
      let text = "";
      const ended = new Promise<Error | undefined>((resolve) => {
        socket.on("data", (chunk) => {
          text += chunk.toString();
        });
        socket.on("error", resolve).on("close", () => resolve(undefined));
      });
      socket.write(
        `POST /v2/apis.createApi HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.rootKey}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
      for (let sent = 0; sent < 160; sent++) if (!socket.write(chunk)) await new Promise((resolve) => socket.once("drain", resolve));
      socket.end("0\r\n\r\n");
      expect(await ended).toBeUndefined();
      expect(text).toMatch(/^HTTP\/1\.1 413 /);
      expect(text).toContain('"errors":[]');
    } finally {
      await api.close();
    }
  });
});
