import type { IncomingHttpHeaders } from "node:http";
import type { Violation } from "../../../base/errors.ts";

const json = "application/json";

/** Media types are compared without their parameters and regardless of case. */
const isJson = (contentType: string | undefined): boolean =>
  contentType === json || contentType?.split(";", 1)[0]?.trim().toLowerCase() === json;

/** What forbids reading the body as JSON, judged from the headers (protocol §1). */
export const checkContentHeaders = (headers: IncomingHttpHeaders): Violation | undefined => {
  const contentType = headers["content-type"];
  if (!isJson(contentType)) {
    const message = contentType === undefined ? "missing, want application/json" : "want application/json";
    return { location: "header.Content-Type", message, fix: "Send the header `Content-Type: application/json`." };
  }
  const encoding = headers["content-encoding"];
  if (encoding === undefined || encoding.toLowerCase() === "identity") return undefined;
  const fix = "Send the body uncompressed, without the header Content-Encoding.";
  return { location: "header.Content-Encoding", message: "compressed bodies are not accepted", fix };
};
