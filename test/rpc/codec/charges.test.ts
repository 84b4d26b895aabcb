import { expect, test } from "vitest";
import { MigrateKeysRequestSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import { ServiceError } from "../../../src/platform/base/errors.ts";
import { messageReader } from "../../../src/platform/codec/binary/binaryForm.ts";
import { jsonReader } from "../../../src/platform/codec/json/jsonForm.ts";
import { patientReader } from "../support/reader.ts";

const count = 20_000;
const { keys } = MigrateKeysRequestSchema.field;

const forms = [
  ["binary form, empty", messageReader(MigrateKeysRequestSchema), Buffer.alloc(2 * count, Buffer.of(keys.number * 8 + 2, 0))],
  ["binary form", messageReader(MigrateKeysRequestSchema), Buffer.alloc(7 * count, Buffer.of(keys.number * 8 + 2, 5, 10, 3, 97, 98, 99))],
  [
    "JSON",
    jsonReader(MigrateKeysRequestSchema, "v2"),
    Buffer.from(`{"migrationId":"mig","apiId":"api","keys":[${Array(count).fill('{"hash":"abc"}').join(",")}]}`),
  ],
] as const;

test.each(forms)("the decoded size of items is charged: %s", async (_, read, body) => {
  let charged = 0;
  await read(body, {
    ...patientReader,
    charge: (bytes) => {
      charged += bytes;
    },
  });
  expect(charged).toBeGreaterThan(90 * count);
});

test.each(forms)("a body whose items have no room is refused: %s", async (_, read, body) => {
  const charge = (): void => {
    throw new ServiceError("service_unavailable", "no room");
  };
  await expect(async () => read(body, { ...patientReader, charge })).rejects.toThrow("no room");
});
