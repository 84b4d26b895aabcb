import { hash } from "node:crypto";
import type { Message } from "@bufbuild/protobuf";
import { isObject } from "../../util/isObject.ts";
import { jsonDigest } from "../codec/json/jsonDigest.ts";
import type { WriteJson } from "../codec/json/jsonForm.ts";
import { largeAnswer } from "../http/limits.ts";
import type { Slices, Worker } from "./slices.ts";

/** JSON text in which the order of properties says nothing. */
const canonical = (json: unknown): string =>
  JSON.stringify(json, (_, value: unknown) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );

/**
 * Hex SHA-256 of procedure and request, by which a reservation knows its call again. The same for requests that decode to
 * the same message, on whichever edge; the order of properties in `meta` is no difference. Large ones are told apart by a
 * digest that is made in slices.
 */
export const requestFingerprint = async (
  procedure: string,
  write: WriteJson,
  message: Message,
  slices: Slices,
  worker: Worker,
): Promise<string> => {
  const written = await write(message, worker);
  const text = typeof written === "string" ? Buffer.from(written) : Buffer.concat(written);
  // By its length alone: whether it was written in slices depends on the form in which the request came.
  const content = text.length > largeAnswer ? await slices.run(jsonDigest(text), worker) : canonical(JSON.parse(text.toString()));
  return hash("sha256", `${procedure}\n${content}`, "hex");
};
