import { create, type DescMessage, fromBinary, fromJsonString, type MessageShape, type Registry } from "@bufbuild/protobuf";
import { isFieldError } from "@bufbuild/protobuf/reflect";
import type { Violation } from "../../domain/errors.ts";

/** Messages within messages: some 500 levels of a Struct, whose reading is recursive. */
const recursionLimit = 1_000;

/** What failed, without the library's text: that quotes values, which may be secrets. */
const explain = (desc: DescMessage, error: unknown): Violation => {
  const cause = error instanceof Error ? (error.cause ?? error) : undefined;
  if (isFieldError(cause)) {
    const field = cause.field();
    if (field.kind === "oneof") return { location: "body", message: `more than one member of '${field.name}' is set` };
    const location = field.parent === desc ? `body.${field.jsonName}` : "body";
    return { location, message: `the value of '${field.jsonName}' does not fit its type` };
  }
  const unknown = error instanceof Error ? /: key "(.{1,100})" is unknown$/s.exec(error.message)?.[1] : undefined;
  return { location: "body", message: unknown === undefined ? `not a message ${desc.typeName}` : `additional property '${unknown}'` };
};

/**
 * Decodes a request of gRPC or Connect (grpc §2): unknown fields are ignored in the binary form and refused in the JSON
 * form. Never throws; a message that cannot be decoded is an empty one with a violation. `registry`: what an Any in the
 * JSON form may hold.
 */
export const decodeMessage = <D extends DescMessage>(
  desc: D,
  bytes: Uint8Array,
  binary: boolean,
  registry?: Registry,
): { readonly message: MessageShape<D>; readonly violation?: Violation } => {
  try {
    const message = binary
      ? fromBinary(desc, bytes, { recursionLimit, readUnknownFields: false })
      : fromJsonString(desc, new TextDecoder("utf-8", { fatal: true }).decode(bytes), {
          recursionLimit,
          ignoreUnknownFields: false,
          ...(registry && { registry }),
        });
    return { message };
  } catch (error) {
    return { message: create(desc), violation: explain(desc, error) };
  }
};
