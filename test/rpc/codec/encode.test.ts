import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { GetVerificationsResponseSchema } from "../../../gen/latchkey/v2/analytics_pb.ts";
import { ListKeysResponseSchema } from "../../../gen/latchkey/v2/apis_pb.ts";
import { RefillInterval } from "../../../gen/latchkey/v2/common_pb.ts";
import {
  DeleteKeyResponseSchema,
  GetKeyResponseSchema,
  MigrateKeysResponseSchema,
  UpdateCreditsResponseSchema,
  VerificationCode,
  VerifyKeyResponseSchema,
} from "../../../gen/latchkey/v2/keys_pb.ts";
import { GetRoleResponseSchema } from "../../../gen/latchkey/v2/permissions_pb.ts";
import { LimitResponseSchema } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import { RootKeysServiceListKeysResponseSchema } from "../../../gen/latchkey/v2/root_keys_pb.ts";
import { compileCodec } from "../../support/compileCodec.ts";

const meta = { requestId: "req_1" };
const key = { keyId: "key_1", start: "", enabled: false, createdAt: 0n };

describe("envelopes", () => {
  test("[protocol §5] meta, data and nothing else, in this order", () => {
    const text = compileCodec(LimitResponseSchema).encode({ data: { success: true, limit: 10n, remaining: 0n, reset: 1000n }, meta });
    expect(text).toBe('{"meta":{"requestId":"req_1"},"data":{"success":true,"limit":10,"remaining":0,"reset":1000}}');
  });

  test("[protocol §5] a procedure without a result answers data {}", () => {
    const codec = compileCodec(DeleteKeyResponseSchema);
    expect(codec.encode({ meta })).toBe('{"meta":{"requestId":"req_1"},"data":{}}');
    expect(codec.encode({ meta, data: {} })).toBe('{"meta":{"requestId":"req_1"},"data":{}}');
  });

  test("[protocol §4, §10] the data of an empty list is [], and its last page has no cursor", () => {
    expect(compileCodec(ListKeysResponseSchema).encode({ meta, pagination: { hasMore: false } })).toBe(
      '{"meta":{"requestId":"req_1"},"data":[],"pagination":{"hasMore":false}}',
    );
    expect(compileCodec(ListKeysResponseSchema).encode({ meta, data: [key], pagination: { hasMore: true, cursor: "c" } })).toBe(
      '{"meta":{"requestId":"req_1"},"data":[{"keyId":"key_1","start":"","enabled":false,"createdAt":0}],"pagination":{"hasMore":true,"cursor":"c"}}',
    );
  });

  test("[analytics §1] rows are arbitrary objects", () => {
    const data = [{ count: 3, "max(x)": null, tags: ["a"] }, {}];
    expect(JSON.parse(compileCodec(GetVerificationsResponseSchema).encode({ meta, data }))).toEqual({ meta, data });
  });
});

describe("values", () => {
  test("[protocol §4] int64 is a JSON number, given as bigint or number", () => {
    const codec = compileCodec(GetKeyResponseSchema);
    const asBigint = codec.encode({ meta, data: { ...key, createdAt: 1_700_000_000_000n, expires: 9007199254740991n } });
    const asNumber = codec.encode(
      JSON.parse(
        `{"meta":{"requestId":"req_1"},"data":{"keyId":"key_1","start":"","enabled":false,"createdAt":1700000000000,"expires":9007199254740991}}`,
      ),
    );
    expect(asNumber).toBe(asBigint);
    expect(asBigint).toContain('"createdAt":1700000000000,"expires":9007199254740991');
  });

  test("[keys §1.8] optional fields are absent without a value, and 0 is a value", () => {
    expect(
      compileCodec(GetKeyResponseSchema).encode({ meta, data: { ...key, expires: 0n, permissions: [], roles: [], ratelimits: [] } }),
    ).toBe('{"meta":{"requestId":"req_1"},"data":{"keyId":"key_1","start":"","enabled":false,"createdAt":0,"expires":0}}');
  });

  test("[verify §3] NOT_FOUND carries only valid and code; 0 credits are present", () => {
    const codec = compileCodec(VerifyKeyResponseSchema);
    expect(codec.encode({ meta, data: { valid: false, code: VerificationCode.NOT_FOUND } })).toBe(
      '{"meta":{"requestId":"req_1"},"data":{"valid":false,"code":"NOT_FOUND"}}',
    );
    expect(codec.encode({ meta, data: { valid: false, code: VerificationCode.USAGE_EXCEEDED, credits: 0n } })).toContain('"credits":0');
  });

  test("[protocol §4] the refill interval is written in lower case", () => {
    const refill = { interval: RefillInterval.MONTHLY, amount: 5n, refillDay: 31n };
    expect(
      compileCodec(UpdateCreditsResponseSchema).encode({ meta, data: { remaining: { kind: { case: "value", value: 7n } }, refill } }),
    ).toBe('{"meta":{"requestId":"req_1"},"data":{"remaining":7,"refill":{"interval":"monthly","amount":5,"refillDay":31}}}');
  });

  test("[keys §9] remaining of updateCredits is null for unlimited, never absent", () => {
    const codec = compileCodec(UpdateCreditsResponseSchema);
    const want = '{"meta":{"requestId":"req_1"},"data":{"remaining":null}}';
    expect(codec.encode({ meta, data: { remaining: { kind: { case: "null", value: 0 } } } })).toBe(want);
    expect(codec.encode({ meta, data: {} })).toBe(want);
  });

  test("[rootkeys §2] all ten fields of a listed root key are present", () => {
    const row = { keyId: "rk_1", start: "lkr_abcd", end: "wxyz", enabled: true, createdAt: 1n };
    expect(compileCodec(RootKeysServiceListKeysResponseSchema).encode({ meta, data: [row], pagination: { hasMore: false } })).toContain(
      '[{"keyId":"rk_1","name":null,"start":"lkr_abcd","end":"wxyz","enabled":true,"createdAt":1,"lastUsedAt":0,"expires":null,"permissions":[],"usedPermissions":[]}]',
    );
  });

  test("[keys §7] both lists of migrateKeys are always arrays", () => {
    expect(compileCodec(MigrateKeysResponseSchema).encode({ meta, data: {} })).toContain('"data":{"migrated":[],"failed":[]}');
  });

  test("[permissions §1] a role without permissions or description has neither field", () => {
    expect(compileCodec(GetRoleResponseSchema).encode({ meta, data: { id: "role_1", name: "a" } })).toContain(
      '"data":{"id":"role_1","name":"a"}',
    );
  });

  test("[protocol §3] meta is written as it is", () => {
    const text = '{"__proto__":{"x":1},"toJSON":null,"a.b":[1,"\\ud800"],"":{}}';
    expect(compileCodec(GetKeyResponseSchema).encode({ meta, data: { ...key, meta: JSON.parse(text) } })).toContain(`"meta":${text}`);
  });

  test("[grpc §2] a message made by Protobuf can be encoded", () => {
    const message = create(GetKeyResponseSchema, { meta, data: { ...key, identity: { id: "id_1", externalId: "e" } } });
    expect(JSON.parse(compileCodec(GetKeyResponseSchema).encode(message))).toEqual({
      meta,
      data: { ...key, createdAt: 0, identity: { id: "id_1", externalId: "e" } },
    });
  });
});

describe("an invalid response is a defect of ours", () => {
  test.each([[Number.NaN], [1.5], [2 ** 53], [2n ** 53n], ["5"]])("[protocol §4] int64 %s", (limit) => {
    const data = { success: true, limit, remaining: 0, reset: 0 };
    expect(() => compileCodec(LimitResponseSchema).encode({ meta, data } as never)).toThrow(TypeError);
  });

  test("[protocol §4] an enum value without a spelling", () => {
    const data = { valid: false, code: VerificationCode.UNSPECIFIED };
    expect(() => compileCodec(VerifyKeyResponseSchema).encode({ meta, data })).toThrow(TypeError);
  });
});
