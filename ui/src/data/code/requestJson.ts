import {
  clone,
  type DescField,
  type DescMessage,
  getOption,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { Wrapper, wrapper } from "../../../../gen/latchkey/v2/options_pb.ts";
import { isSecret } from "../calls/methodOptions.ts";
import { enumName } from "./enumName.ts";

/** Shown instead of a secret. */
const maskedSecret = "$SECRET";

const maskIn = (message: ReflectMessage): void => {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    if (field.fieldKind === "scalar" && isSecret(field)) message.set(field, maskedSecret);
    else if (field.fieldKind === "message") maskIn(message.get(field));
    else if (field.fieldKind === "list" && field.listKind === "message") {
      for (const item of message.get(field)) maskIn(item as ReflectMessage);
    }
  }
};

/** A copy that holds no secret. */
export const withoutSecrets = (schema: DescMessage, message: Message): Message => {
  const copy = clone(schema, message);
  maskIn(reflect(schema, copy));
  return copy;
};

const single = (field: DescField, value: unknown): JsonValue => {
  if (field.enum !== undefined) return enumName(field.enum, value as number);
  if (field.message !== undefined) return messageJson(value as ReflectMessage);
  // Requests hold nothing above 2^53-1 (protocol §4), so a number is exact.
  return typeof value === "bigint" ? Number(value) : (value as string | number | boolean);
};

const fieldJson = (message: ReflectMessage, field: DescField): JsonValue =>
  field.fieldKind === "list" ? Array.from(message.get(field), (item) => single(field, item)) : single(field, message.get(field));

const messageJson = (message: ReflectMessage): JsonValue => {
  const { desc } = message;
  if (desc.typeName === StructSchema.typeName) return toJson(desc, message.message);
  const set = desc.fields.filter((field) => message.isSet(field));
  switch (getOption(desc, wrapper)) {
    case Wrapper.NULLABLE: {
      const [value] = set;
      return value === undefined || value.name === "null" ? null : fieldJson(message, value);
    }
    case Wrapper.LIST:
      return set.flatMap((field) => fieldJson(message, field));
    default:
      return Object.fromEntries(set.map((field) => [field.jsonName, fieldJson(message, field)])) satisfies JsonObject;
  }
};

/** The body of a request on `/v2`: what is unset is left out, null removes (protocol §4). */
export const requestJson = (schema: DescMessage, request: Message): JsonValue => messageJson(reflect(schema, request));
