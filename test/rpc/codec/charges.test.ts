import { expect, test } from "vitest";
import { MigrateKeysRequestSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import { ServiceError } from "../../../src/domain/errors.ts";
import { messageReader } from "../../../src/rpc/codec/binary/binaryForm.ts";
import { jsonReader } from "../../../src/rpc/codec/json/jsonForm.ts";
import { createSlices } from "../../../src/rpc/pipeline/slices.ts";
import { patientReader } from "../support/reader.ts";

const slices = createSlices();
const count = 20_000;

const forms = [
  [
    "binary form, empty",
    messageReader(MigrateKeysRequestSchema, slices),
    Buffer.alloc(2 * count, Buffer.of(MigrateKeysRequestSchema.field.keys.number * 8 + 2, 0)),
  ],
  [
    "binary form",
    messageReader(MigrateKeysRequestSchema, slices),
    Buffer.alloc(7 * count, Buffer.of(MigrateKeysRequestSchema.field.keys.number * 8 + 2, 5, 10, 3, 97, 98, 99)),
  ],
  [
    "JSON",
    jsonReader(MigrateKeysRequestSchema, "v2", slices),
    Buffer.from(`{"migrationId":"mig","apiId":"api","keys":[${Array(count).fill('{"hash":"abc"}').join(",")}]}`),
  ],
] as const;

test.each(forms)("[attack B3] what items become is charged as they are read: %s", async (_, read, body) => {
  let charged = 0;
  await read(body, {
    ...patientReader,
    charge: (bytes) => {
      charged += bytes;
    },
  });
  expect(charged).toBeGreaterThan(90 * count);
});

test.each(forms)("[attack B3] items for which there is no room are not read: %s", async (_, read, body) => {
  let charges = 0;
  const charge = (): void => {
    if (++charges > 2) throw new ServiceError("service_unavailable", "no room");
  };
  await expect(read(body, { ...patientReader, charge })).rejects.toThrow("no room");
  expect(charges).toBe(3);
});
