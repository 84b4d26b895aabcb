import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { ServiceError, type Violation } from "../../domain/errors.ts";
import { bodyTooLarge, readBody } from "../readBody.ts";
import { headerOf, type Wire } from "./wire.ts";

/** The bytes of the request message, or why there are none. */
export type ReadMessage = { readonly bytes: Uint8Array } | { readonly violation: Violation };

const frameHeaderBytes = 5;
const compressedFlag = 1;
const gunzipAsync = promisify(gunzip);

const broken = (message: string): ReadMessage => ({ violation: { location: "body", message } });

/** Takes the one message out of its frame. */
const unframe = (body: Buffer): { readonly compressed: boolean; readonly bytes: Buffer } | undefined => {
  if (body.length < frameHeaderBytes || body.length - frameHeaderBytes !== body.readUInt32BE(1)) return undefined;
  return { compressed: (body.readUInt8(0) & compressedFlag) === compressedFlag, bytes: body.subarray(frameHeaderBytes) };
};

const decompress = async (bytes: Uint8Array, limit: number): Promise<ReadMessage> => {
  try {
    return { bytes: bytes.length === 0 ? bytes : await gunzipAsync(bytes, { maxOutputLength: limit }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw bodyTooLarge(limit);
    return broken("cannot be decompressed");
  }
};

/**
 * Reads the message of a unary call, at most `limit` bytes before and after decompression (grpc §3). Fails with
 * `ServiceError` for what is not the message's own fault: too large, broken off, late, compressed by something else
 * than gzip.
 */
export const readMessage = async (req: IncomingMessage, res: ServerResponse, { protocol }: Wire, limit: number): Promise<ReadMessage> => {
  const encoding = headerOf(req.headers, protocol.encodingHeader) ?? "identity";
  if (encoding !== "gzip" && encoding !== "identity") {
    throw new ServiceError("not_implemented", `The compression of ${protocol.encodingHeader} is not supported, only gzip is.`);
  }
  const overhead = protocol.framed ? frameHeaderBytes : 0;
  const body = await new Promise<Buffer>((resolve, reject) => {
    readBody(req, res, limit, (result) => (result instanceof ServiceError ? reject(result) : resolve(result)), overhead);
  });
  if (!protocol.framed) return encoding === "gzip" ? decompress(body, limit) : { bytes: body };
  const frame = unframe(body);
  if (frame === undefined) return broken("want exactly one message in one frame");
  if (!frame.compressed) return frame;
  return encoding === "gzip" ? decompress(frame.bytes, limit) : broken("flagged as compressed, but no compression is named");
};
