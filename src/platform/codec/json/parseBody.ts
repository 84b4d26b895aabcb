import { isAscii, isUtf8 } from "node:buffer";
import type { Violation } from "../../base/errors.ts";

/** A body's JSON value, or why it has none. */
export type ParsedBody = { readonly json: unknown } | { readonly violation: Violation };

const undecodable = (message: string): ParsedBody => ({
  violation: { location: "body", message, fix: "send one JSON value (RFC 8259) in UTF-8, for example {}" },
});

/** The engine's message quotes the body, which may hold a secret: only the place is taken from it. */
const whereItFails = (error: unknown): string => {
  const text = error instanceof Error ? error.message : "";
  if (text.startsWith("Unexpected end") || text.startsWith("Unterminated")) return "the JSON ends too early";
  const position = /at position (\d+)/.exec(text)?.[1];
  return position === undefined ? "not valid JSON" : `not valid JSON at position ${position}`;
};

/**
 * Reads a request body of /v2 (protocol §3): exactly one JSON value in UTF-8, without byte order mark. Of a repeated
 * property the last one counts. Never throws.
 */
export const parseBody = (bytes: Uint8Array): ParsedBody => {
  if (bytes.length === 0) return undecodable("the body is empty");
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ascii = isAscii(buffer);
  if (!ascii && !isUtf8(buffer)) return undecodable("not valid UTF-8");
  try {
    return { json: JSON.parse(buffer.toString(ascii ? "latin1" : "utf8")) };
  } catch (error) {
    return undecodable(whereItFails(error));
  }
};
