import { type DescField, type DescMessage, type JsonObject, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";

const isNull = (field: DescField): boolean => field.fieldKind === "enum" && field.enum.typeName === "google.protobuf.NullValue";

/** Messages of ours in a field, which may have nulls to name. Those of Google have a form of their own. */
const messageOf = (field: DescField): DescMessage | undefined => {
  const message = field.fieldKind === "message" || field.fieldKind === "list" ? field.message : undefined;
  return message?.typeName.startsWith("google.") ? undefined : message;
};

const withNames = (desc: DescMessage, json: JsonValue): JsonValue => {
  const named: JsonObject = { ...(json as JsonObject) };
  for (const field of desc.fields) {
    const value = named[field.jsonName];
    if (value === undefined) continue;
    const message = messageOf(field);
    if (isNull(field)) named[field.jsonName] = "NULL_VALUE";
    else if (message !== undefined) {
      named[field.jsonName] = Array.isArray(value) ? value.map((each) => withNames(message, each)) : withNames(message, value);
    }
  }
  return named;
};

/** A message in the JSON that grpcurl takes: it wants NullValue by name, where other tools take null. */
export const grpcurlJson = (desc: DescMessage, message: Message): JsonValue => withNames(desc, toJson(desc, message));
