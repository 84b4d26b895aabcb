import { hash } from "node:crypto";
import type { Message } from "@bufbuild/protobuf";
import { jsonDigest } from "../../platform/codec/json/jsonDigest.ts";
import type { WriteJson } from "../../platform/codec/json/jsonForm.ts";
import { inTurns } from "../../platform/codec/largeMessages.ts";
import type { PermitRequest } from "../../platform/fairness/fairSemaphore.ts";
import { isObject } from "../../platform/util/isObject.ts";

/** Bytes beyond which the digest is used: kept fingerprints are compared with new ones, so this never changes. */
const longText: number = 64 * 1024;

/** JSON text in which the order of properties says nothing. */
const canonical = (json: unknown): string =>
  JSON.stringify(json, (_, value: unknown) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );

/**
 * Hex SHA-256 of procedure and request, by which a reservation knows its call again. The same for requests that decode to
 * the same message, on whichever edge; the order of properties in `meta` is no difference. Long ones are told apart by a
 * digest, which costs less than sorting them.
 */
export const requestFingerprint = async (procedure: string, write: WriteJson, message: Message, caller: PermitRequest): Promise<string> => {
  const written = await write(message, caller);
  const text = typeof written === "string" ? Buffer.from(written) : Buffer.concat(written);
  const content = text.length > longText ? await inTurns(caller, jsonDigest(text)) : canonical(JSON.parse(text.toString()));
  return hash("sha256", `${procedure}\n${content}`, "hex");
};
