import { promisify } from "node:util";
import { gzip as gzipWithCallback } from "node:zlib";
import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";

/** Flags and length of a message. */
export const frameHeaderBytes = 5;
export const compressedFlag = 1;

export const gzip: (bytes: Uint8Array) => Promise<Buffer> = promisify(gzipWithCallback);

/** A message behind its flags and length. */
export const frame = (flags: number, bytes: Uint8Array): Buffer => {
  const framed = Buffer.allocUnsafe(frameHeaderBytes + bytes.length);
  framed.writeUInt8(flags, 0);
  framed.writeUInt32BE(bytes.length, 1);
  framed.set(bytes, frameHeaderBytes);
  return framed;
};

/** Where the first frame of a body should end; beyond every body when not even its head is there. */
export const firstFrameEnd = (body: Buffer): number =>
  body.length < frameHeaderBytes ? Number.POSITIVE_INFINITY : frameHeaderBytes + body.readUInt32BE(1);

/** Takes the one message out of its frame; undefined unless there is exactly one. */
export const unframe = (body: Buffer): { readonly compressed: boolean; readonly bytes: Buffer } | undefined => {
  if (firstFrameEnd(body) !== body.length) return undefined;
  return { compressed: (body.readUInt8(0) & compressedFlag) === compressedFlag, bytes: body.subarray(frameHeaderBytes) };
};

export const okTrailers: Readonly<Record<string, string>> = { "grpc-status": "0" };

/**
 * Percent-encodes what gRPC says must be, and blanks at the ends, which HTTP/2 forbids. No more: @grpc/grpc-js would
 * leave an encoded comma or colon as it is.
 */
const encodeMessage = (message: string): string => message.replace(/^ | $|[^\x20-\x24\x26-\x7e]+/gu, encodeURIComponent);

/** Status, message and details of a failure as gRPC writes them. */
export const errorTrailers = (error: ConnectError): Record<string, string> => ({
  ...Object.fromEntries(setTrailerStatus(new Headers(), error)),
  "grpc-message": encodeMessage(error.rawMessage),
});
