import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { KeysService } from "../../gen/latchkey/v2/keys_pb.ts";
import { requestFingerprint } from "../../src/features/calls/requestFingerprint.ts";
import { messageReader } from "../../src/platform/codec/binary/binaryForm.ts";
import { jsonReader, jsonWriter } from "../../src/platform/codec/json/jsonForm.ts";
import { patientReader } from "./support/reader.ts";

const { input } = KeysService.method.migrateKeys;

test.each([1, 100, 520, 2_000])("[protocol §2] a request of %i items has one hash, whatever form it came in", async (count) => {
  const item = { hash: "a".repeat(64), meta: {} };
  const request = { migrationId: "mig_1", apiId: "api_1", keys: Array.from({ length: count }, () => item) };
  const write = jsonWriter(input, "v2");
  const { message: fromJson } = await jsonReader(input, "v2")(Buffer.from(JSON.stringify(request)), patientReader);
  const { message: fromBinary } = await messageReader(input)(Buffer.from(toBinary(input, create(input, request))), patientReader);
  expect(await requestFingerprint("keys.migrateKeys", write, fromBinary, patientReader)).toBe(
    await requestFingerprint("keys.migrateKeys", write, fromJson, patientReader),
  );
});
