import { create, type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { Violation } from "../../domain/errors.ts";

/** Messages within messages: some 500 levels of a Struct, whose reading is recursive. */
const recursionLimit = 1_000;

/**
 * Decodes the binary form of a small request (grpc §2): unknown fields are ignored. Never throws; a message that cannot
 * be decoded is an empty one with a violation, without the library's text: that quotes values, which may be secrets.
 */
export const decodeMessage = <D extends DescMessage>(
  desc: D,
  bytes: Uint8Array,
): { readonly message: MessageShape<D>; readonly violation?: Violation } => {
  try {
    return { message: fromBinary(desc, bytes, { recursionLimit, readUnknownFields: false }) };
  } catch {
    return { message: create(desc), violation: { location: "body", message: `not a message ${desc.typeName}` } };
  }
};
