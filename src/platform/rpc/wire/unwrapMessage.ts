import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { ServiceError, type Violation } from "../../base/errors.ts";
import { createFairSemaphore } from "../../fairness/fairSemaphore.ts";
import { headerText } from "../../http/headerFields.ts";
import { awaitedRequestBytes, inflationsAtATime, smallBodyBytes } from "../../http/limits.ts";
import { bodyTooLarge } from "../../http/readBody.ts";
import type { EdgeCall } from "../edges/edgeCall.ts";
import { firstFrameEnd, unframe } from "./frame.ts";
import { ProtocolError } from "./protocolError.ts";
import type { Protocol } from "./protocolWire.ts";

/** The bytes of the request message, or why there are none. */
export type Unwrapped = { readonly bytes: Buffer } | { readonly violation: Violation };

const gunzipAsync = promisify(gunzip);

const broken = (message: string): Unwrapped => ({ violation: { location: "body", message } });

/** One for the process, as its threads are. */
const turns = createFairSemaphore(inflationsAtATime);

const decompress = async (bytes: Buffer, limit: number, call: EdgeCall): Promise<Unwrapped> => {
  if (bytes.length === 0) return { bytes };
  // What waits takes as much as what is awaited, or small messages would make a line that has no end.
  const countWaiting = (): void => call.charge(awaitedRequestBytes + bytes.length);
  let inflated: Buffer;
  try {
    inflated = await turns.run(call, countWaiting, () => gunzipAsync(bytes, { maxOutputLength: limit }));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw bodyTooLarge(limit);
    return broken("cannot be decompressed");
  }
  // It counts as a body, for it is what the call keeps.
  if (inflated.length > smallBodyBytes) call.charge(inflated.length);
  return { bytes: inflated };
};

/** The compression that a request names. Throws `not_implemented` for other than gzip. */
export const messageEncoding = (headers: IncomingHttpHeaders, { encodingHeader }: Protocol): "gzip" | "identity" => {
  const encoding = headerText(headers[encodingHeader]) ?? "identity";
  if (encoding === "gzip" || encoding === "identity") return encoding;
  throw new ServiceError("not_implemented", `The compression of ${encodingHeader} is not supported, only gzip is.`);
};

/** Why a body is no single frame. Other than one message is `unimplemented`, as gRPC wants it of a unary procedure. */
const unframed = (body: Buffer): Unwrapped | Promise<never> => {
  if (body.length > 0 && firstFrameEnd(body) > body.length) return broken("want exactly one message in one frame");
  return Promise.reject(new ServiceError("not_implemented", "Procedures take exactly one message."));
};

/** gRPC calls this `internal`, although the fault is the caller's. */
const unexpectedlyCompressed = (): ProtocolError => {
  const message = "flagged as compressed, but no compression is named";
  return new ProtocolError(Code.Internal, "invalid_input", `The message is ${message}.`, [{ location: "body", message }]);
};

/**
 * Takes the message of a unary call out of its body; at most `limit` bytes after decompression (grpc §3), or it fails
 * with `request_body_too_large`. Fails with `not_implemented` unless there is one message, and with `ProtocolError`. At once unless
 * it is compressed.
 */
export const unwrapMessage = (
  body: Buffer,
  encoding: "gzip" | "identity",
  { framed }: Protocol,
  limit: number,
  call: EdgeCall,
): Unwrapped | Promise<Unwrapped> => {
  if (!framed) return encoding === "gzip" ? decompress(body, limit, call) : { bytes: body };
  const frame = unframe(body);
  if (frame === undefined) return unframed(body);
  if (!frame.compressed) return frame;
  return encoding === "gzip" ? decompress(frame.bytes, limit, call) : Promise.reject(unexpectedlyCompressed());
};
