// @same-on-every-engine
import { create, type JsonObject, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RefillInterval } from "../../../gen/latchkey/v2/common_pb.ts";
import { KeysService, type UpdateKeyRequestSchema, VerifyKeyRequestSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import { MultiLimitRequestSchema, RatelimitService } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { type HttpAnswer, request } from "../../support/envelope.ts";
import { failureOf, rpcTransports } from "../../support/rpcClients.ts";
import { engines } from "../../support/stores.ts";

const NULL = { case: "null", value: 0 } as const;
const largest = 9_007_199_254_740_991n;

describe.each(engines)("[grpc §2] on $name", (engine) => {
  let api: Api;
  let apiId: string;
  const root = () => ({ headers: { authorization: `Bearer ${api.rootKey}` } });
  const v2 = async (procedure: string, body: unknown): Promise<Record<string, unknown>> =>
    dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body }));
  /** As JSON text over Connect, whatever a client library would make of it. */
  const connect = (method: string, body: unknown): Promise<HttpAnswer & { body: Record<string, never> }> =>
    request(api.url, `/latchkey.v2.${method}`, { rootKey: api.rootKey, body }) as Promise<HttpAnswer & { body: Record<string, never> }>;
  /** Locations of an invalid_argument of Connect. */
  const violations = async (method: string, body: unknown): Promise<string[]> => {
    const { status, text } = await connect(method, body);
    const answer = JSON.parse(text) as { code: string; details: { debug: { violations: { location: string }[] } }[] };
    expect([status, answer.code]).toEqual([400, "invalid_argument"]);
    return answer.details[0]?.debug.violations.map(({ location }) => location) ?? [];
  };

  beforeAll(async () => {
    api = await startApi(engine);
    apiId = (await v2("apis.createApi", { name: "values" })).apiId as string;
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  describe.each(Object.entries(rpcTransports))("over %s", (_name, transport) => {
    const keys = () => createClient(KeysService, transport(api.url));
    const created = async (fields: object = {}): Promise<string> => (await v2("keys.createKey", { apiId, ...fields })).keyId as string;
    /** The key as /v2 shows it, after an update over this protocol. */
    const afterUpdate = async (keyId: string, update: Omit<MessageInitShape<typeof UpdateKeyRequestSchema>, "$typeName">) => {
      const answer = await keys().updateKey({ keyId, ...update }, root());
      expect(answer.data).toBeDefined();
      return v2("keys.getKey", { keyId });
    };
    const full = {
      ...{ name: "full", externalId: "user_1", meta: { plan: "pro" }, expires: 4_000_000_000_000, permissions: ["docs.read"] },
      credits: { remaining: 10, refill: { interval: "daily", amount: 5 } },
      ratelimits: [{ name: "requests", limit: 10, duration: 60_000, autoApply: false }],
    };

    test("an unset wrapper keeps, null removes, a value sets", async () => {
      const keyId = await created(full);
      const before = await v2("keys.getKey", { keyId });
      expect(await afterUpdate(keyId, {})).toEqual({ ...before, updatedAt: expect.any(Number) });

      const removed = await afterUpdate(keyId, {
        ...{ name: { kind: NULL }, externalId: { kind: NULL }, meta: { kind: NULL }, expires: { kind: NULL } },
        ...{ credits: { kind: NULL }, ratelimits: { kind: NULL } },
      });
      expect(Object.keys(removed).sort()).toEqual(["createdAt", "enabled", "keyId", "permissions", "start", "updatedAt"]);

      const set = await afterUpdate(keyId, {
        ...{ name: { kind: { case: "value", value: "again" } }, externalId: { kind: { case: "value", value: "user_2" } } },
        ...{ meta: { kind: { case: "value", value: { a: 1 } } }, expires: { kind: { case: "value", value: 0n } }, enabled: false },
        credits: { kind: { case: "value", value: { remaining: { kind: { case: "value", value: 0n } } } } },
      });
      expect(set).toMatchObject({ name: "again", identity: { externalId: "user_2" }, meta: { a: 1 }, expires: 0, enabled: false });
      expect(set.credits).toEqual({ remaining: 0 });
    });

    test("a list wrapper without items is an empty list, an unset one keeps", async () => {
      const keyId = await created(full);
      expect((await afterUpdate(keyId, { name: { kind: NULL } })).permissions).toEqual(["docs.read"]);
      expect((await afterUpdate(keyId, { permissions: { values: [] } })).permissions).toBeUndefined();
      expect((await afterUpdate(keyId, { ratelimits: { kind: { case: "value", value: { values: [] } } } })).ratelimits).toBeUndefined();
    });

    test("null and unset differ inside credits, too", async () => {
      const keyId = await created(full);
      const refillOnly = { refill: { kind: NULL } };
      expect((await afterUpdate(keyId, { credits: { kind: { case: "value", value: refillOnly } } })).credits).toEqual({ remaining: 10 });
      const unlimited = { remaining: { kind: NULL } };
      expect((await afterUpdate(keyId, { credits: { kind: { case: "value", value: unlimited } } })).credits).toBeUndefined();
    });

    test("meta comes back unchanged: property names, nesting, numbers as doubles", async () => {
      const meta = JSON.parse(
        `{"":0,"a.b":1.5,"$set":{"$x":null},"__proto__":{"a":[1,[2,{"":{}}]]},"constructor":true,"big":1e300,"é":"\\u0000","n":-0.1,"i":9007199254740993}`,
      ) as JsonObject;
      const { data } = await keys().createKey({ apiId, meta: meta as never }, root());
      const shown = await keys().getKey({ keyId: data?.keyId ?? "" }, root());
      expect(shown.data?.meta).toEqual(meta);
      expect(Object.hasOwn(shown.data?.meta ?? {}, "__proto__")).toBe(true);
      expect(await v2("keys.getKey", { keyId: data?.keyId })).toMatchObject({ meta });
    });

    test("integers are exact up to the largest, and invalid beyond it", async () => {
      const credits = (remaining: bigint) => ({ remaining: { kind: { case: "value", value: remaining } as const } });
      const { data } = await keys().createKey({ apiId, credits: credits(largest) }, root());
      expect((await keys().getKey({ keyId: data?.keyId ?? "" }, root())).data?.credits?.remaining).toBe(largest);
      for (const remaining of [largest + 1n, 2n ** 63n - 1n, -1n, -(2n ** 63n)]) {
        const { code, detail } = await failureOf(keys().createKey({ apiId, credits: credits(remaining) }, root()));
        expect([remaining, code, detail.violations.map(({ location }) => location)]).toEqual([
          remaining,
          "invalid_argument",
          ["body.credits.remaining"],
        ]);
      }
    });

    test("a value that is required must be there, and an enumeration must have a known one", async () => {
      const refill = (interval: number) => ({
        ...{ remaining: { kind: { case: "value", value: 1n } as const } },
        refill: { interval: interval as RefillInterval, amount: 1n, refillDay: 1n },
      });
      for (const interval of [RefillInterval.UNSPECIFIED, 7, -1]) {
        const { detail } = await failureOf(keys().createKey({ apiId, credits: refill(interval) }, root()));
        expect(detail.violations.map(({ location }) => location)).toContain("body.credits.refill.interval");
      }
      const { detail } = await failureOf(keys().updateKey({ keyId: await created(), name: {}, credits: { kind: NULL } }, root()));
      expect(detail.violations.map(({ location }) => location)).toEqual(["body.name"]);
    });

    test("multiLimit takes 1 to 100 entries, with the locations of /v2", async () => {
      const limits = createClient(RatelimitService, transport(api.url));
      const entry = { namespace: "values", identifier: "x", limit: 1_000n, duration: 60_000n };
      const answer = await limits.multiLimit({ entries: [entry, { ...entry, identifier: "y" }] }, root());
      expect(answer.data?.limits.map(({ identifier }) => identifier)).toEqual(["x", "y"]);
      for (const [entries, location] of [
        [[], /^body$/],
        [Array.from({ length: 101 }, () => entry), /^body$/],
        [[entry, { ...entry, namespace: "" }], /^body\[1\]\.namespace$/],
      ] as const) {
        const { detail } = await failureOf(limits.multiLimit({ entries: [...entries] }, root()));
        expect(detail.violations.map((violation) => violation.location)).toEqual([expect.stringMatching(location)]);
      }
    });
  });

  test("Connect's JSON writes integers as text and reads both forms", async () => {
    const { text } = await connect("KeysService/CreateKey", { apiId, credits: { remaining: { value: "12" } }, byteLength: 16 });
    const { keyId } = (JSON.parse(text) as { data: { keyId: string } }).data;
    expect((await connect("KeysService/GetKey", { keyId })).text).toContain('"credits":{"remaining":"12"}');
    expect(await violations("KeysService/CreateKey", { apiId, byteLength: "16.5" })).toEqual(["body.byteLength"]);
    expect(await violations("KeysService/CreateKey", { apiId, byteLength: "9223372036854775808" })).toEqual(["body.byteLength"]);
  });

  test("unknown fields are ignored in binary messages, refused in Connect's JSON", async () => {
    expect(await violations("KeysService/VerifyKey", { key: "x", unknownField: 1 })).toHaveLength(1);
    expect(await violations("KeysService/VerifyKey", { key: "x", credits: { cost: 1, other: 1 } })).toHaveLength(1);
    const body = new BinaryWriter()
      .raw(toBinary(VerifyKeyRequestSchema, create(VerifyKeyRequestSchema, { key: "x", credits: { cost: 1n } })))
      .tag(4_000, 2)
      .string("a field of a newer version")
      .tag(4_001, 0)
      .int32(1)
      .finish();
    const response = await fetch(`${api.url}/latchkey.v2.KeysService/VerifyKey`, {
      method: "POST",
      headers: { ...root().headers, "content-type": "application/proto" },
      body: new Uint8Array(body),
    });
    expect(response.status).toBe(200);
  });

  test("Connect's JSON accepts the protobuf field names as well as the JSON ones", async () => {
    const request = create(MultiLimitRequestSchema, { entries: [{ namespace: "a", identifier: "b", limit: 1n, duration: 1_000n }] });
    expect((await connect("RatelimitService/MultiLimit", toJson(MultiLimitRequestSchema, request))).status).toBe(200);
    expect((await connect("ApisService/GetApi", { api_id: apiId })).status).toBe(200);
  });
});
