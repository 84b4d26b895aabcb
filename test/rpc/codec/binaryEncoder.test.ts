import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type VerifyKeyDataSchema, VerifyKeyResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import type { Answered } from "../../../src/platform/codec/answered.ts";
import { binaryEncoder } from "../../../src/platform/codec/binary/binaryEncoder.ts";
import { type FixedFields, withFixedFields } from "../../../src/platform/codec/fixedFields.ts";
import { compileCodec } from "../../support/compileCodec.ts";
import { fieldwiseValidMessage } from "./messageArbitrary.ts";
import { requests, responses } from "./services.ts";

const all = [...requests, ...responses].map((desc) => [desc.name, desc] as const);

describe("the binary form of messages", () => {
  test.each(all)("[grpc §2] %s: is byte for byte what the Protobuf library writes", (_, desc) => {
    const encode = binaryEncoder(desc);
    fc.assert(
      fc.property(fieldwiseValidMessage(desc), (message) => {
        expect(Buffer.from(encode(message)).toString("hex")).toBe(Buffer.from(toBinary(desc, create(desc, message))).toString("hex"));
      }),
      { numRuns: 50 },
    );
  });

  test("a message that cannot be written leaves nothing in the next one", () => {
    const encode = binaryEncoder(VerifyKeyResponseSchema);
    expect(() => encode({ meta: { requestId: "req_1" }, data: { credits: 2n ** 70n } })).toThrow();
    expect(fromBinary(VerifyKeyResponseSchema, encode({ meta: { requestId: "req_2" } }))).toEqual(
      create(VerifyKeyResponseSchema, { meta: { requestId: "req_2" } }),
    );
  });
});

describe("a message with a fixed part", () => {
  type Data = MessageInitShape<typeof VerifyKeyDataSchema>;
  const fixed: Data = { keyId: "key_1", enabled: true, permissions: ["b", "a"], identity: { id: "id_1", externalId: "x" } };
  const varying: Data = { valid: true, code: 1, credits: 7n };
  const whole = { meta: { requestId: "req_1" }, data: { ...fixed, ...varying } as Data };
  const source: Answered = { answered: true, written: undefined };
  const fields: FixedFields<Answered, Data> = { show: () => fixed, varying: ["valid", "code", "credits"] };
  const parted = () => ({ meta: { requestId: "req_1" }, data: withFixedFields(source, fields, { ...varying }) });

  test("reads in the binary form as the message without one, also the second time", () => {
    const encode = binaryEncoder(VerifyKeyResponseSchema);
    for (let i = 0; i < 2; i++)
      expect(fromBinary(VerifyKeyResponseSchema, encode(parted()))).toEqual(create(VerifyKeyResponseSchema, whole));
  });

  test("reads in JSON as the message without one, with the fields that are unset in both halves", () => {
    const { encode } = compileCodec(VerifyKeyResponseSchema);
    for (let i = 0; i < 2; i++) expect(JSON.parse(encode(parted()))).toEqual(JSON.parse(encode(whole)));
  });
});
