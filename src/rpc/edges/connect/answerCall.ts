import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { answerEarly, hasRemainder, isLong, swallowStream } from "../../http/drain.ts";
import { addFields } from "../../http/headerFields.ts";
import { http2Stream } from "../../http/http2Stream.ts";
import { compressedFlag, errorTrailers, frame, gzip, minCompressed, okTrailers } from "../../wire/frame.ts";
import { acceptsGzip, type Wire } from "../../wire/protocolWire.ts";

/** What a call came to: the bytes of its response message, or an error. */
export type Outcome =
  | { readonly bytes: Uint8Array }
  | {
      readonly error: ConnectError;
      /** Of Connect, where it is not that of the error's code. */
      readonly httpStatus?: number | undefined;
      /** Nothing of the request's body is left to come. */
      readonly bodyRead: boolean;
    };

interface Parts {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Uint8Array;
  readonly trailers?: OutgoingHttpHeaders;
}

/**
 * Sends everything, also while the request's body is still coming. Trailers go out later than the head; where that is too
 * late they are among the headers.
 */
export const send = (res: ServerResponse, { status, headers, body, trailers }: Parts, bodyRead: boolean): void => {
  const { req } = res;
  const early = !bodyRead && hasRemainder(req);
  const stream = trailers === undefined || isLong(req.headers) ? undefined : http2Stream(req);
  if (early && stream === undefined) answerEarly(req, res, status, { ...headers, ...trailers }, body);
  else {
    res.writeHead(status, headers);
    if (trailers) res.addTrailers(trailers);
    res.end(body);
    if (early && stream) swallowStream(stream, req);
  }
};

/** Trailers as gRPC-Web writes them, within the body. */
const trailerFrame = (trailers: OutgoingHttpHeaders): Buffer => {
  const fields = new Headers();
  for (const [name, value] of Object.entries(trailers)) for (const each of [value].flat()) fields.append(name, String(each));
  return frame(trailerFlag, trailerSerialize(fields));
};

/**
 * Writes the outcome of a unary call as its protocol wants it: Connect with an HTTP status and, for errors, JSON; gRPC
 * with trailers; gRPC-Web with the trailers as a last frame. `ownTrailers`: names and values in turns, beside the status.
 */
export const answerCall = async (
  res: ServerResponse,
  wire: Wire,
  outcome: Outcome,
  extra: OutgoingHttpHeaders,
  ownTrailers: readonly string[] = [],
): Promise<void> => {
  const { protocol } = wire;
  const headers: OutgoingHttpHeaders = { "content-type": wire.contentType, ...extra };
  let bytes = "bytes" in outcome ? outcome.bytes : undefined;
  let flags = 0;
  if (bytes !== undefined && bytes.length >= minCompressed && acceptsGzip(wire, res.req.headers)) {
    bytes = await gzip(bytes);
    flags = compressedFlag;
    headers[protocol.encodingHeader] = "gzip";
  }
  const error = "error" in outcome ? outcome.error : undefined;
  const bodyRead = "error" in outcome ? outcome.bodyRead : true;
  if (protocol.name === "connect") {
    const body = error ? errorToJsonBytes(error, undefined) : (bytes ?? new Uint8Array());
    if (error) headers["content-type"] = "application/json";
    headers["content-length"] = body.length;
    addFields(headers, ownTrailers, "trailer-");
    const status = "error" in outcome ? (outcome.httpStatus ?? codeToHttpStatus(outcome.error.code)) : 200;
    send(res, { status, headers, body }, bodyRead);
    return;
  }
  const trailers = addFields<OutgoingHttpHeaders>({ ...(error ? errorTrailers(error) : okTrailers) }, ownTrailers);
  const message = bytes === undefined ? Buffer.alloc(0) : frame(flags, bytes);
  if (protocol.name === "grpc") send(res, { status: 200, headers, body: message, trailers }, bodyRead);
  else {
    const body = Buffer.concat([message, trailerFrame(trailers)]);
    send(res, { status: 200, headers: { ...headers, "content-length": body.length }, body }, bodyRead);
  }
};
