import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { answerEarly, hasRemainder, isLong, swallowSmall, swallowStream } from "../../../http/drain.ts";
import { addFields } from "../../../http/headerFields.ts";
import { http2Stream } from "../../../http/http2Stream.ts";
import { compressedFlag, errorTrailers, frame, okTrailers } from "../../wire/frame.ts";
import type { Wire } from "../../wire/protocolWire.ts";

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
    if (!bodyRead) swallowSmall(req);
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

/** What an answer has beside its message or error. */
export interface Beside {
  readonly headers: OutgoingHttpHeaders;
  /** Names and values in turns, beside the status. */
  readonly trailers?: readonly string[] | undefined;
}

/** Of both kinds of gRPC: gRPC with trailers, gRPC-Web with the trailers as a last frame. */
const sendFramed = (
  res: ServerResponse,
  { protocol }: Wire,
  headers: OutgoingHttpHeaders,
  message: Buffer,
  trailers: OutgoingHttpHeaders,
  bodyRead: boolean,
): void => {
  if (protocol.name === "grpc") {
    send(res, { status: 200, headers, body: message, trailers }, bodyRead);
    return;
  }
  const body = Buffer.concat([message, trailerFrame(trailers)]);
  send(res, { status: 200, headers: { ...headers, "content-length": body.length }, body }, bodyRead);
};

/** Writes the message of an answer as its protocol wants it. `compressed`: it is gzipped. */
export const answerMessage = (res: ServerResponse, wire: Wire, bytes: Uint8Array, compressed: boolean, beside: Beside): void => {
  const { protocol } = wire;
  const headers: OutgoingHttpHeaders = { "content-type": wire.contentType, ...beside.headers };
  if (compressed) headers[protocol.encodingHeader] = "gzip";
  if (protocol.framed) {
    const trailers = addFields<OutgoingHttpHeaders>({ ...okTrailers }, beside.trailers);
    sendFramed(res, wire, headers, frame(compressed ? compressedFlag : 0, bytes), trailers, true);
    return;
  }
  headers["content-length"] = bytes.length;
  addFields(headers, beside.trailers, "trailer-");
  send(res, { status: 200, headers, body: bytes }, true);
};

/**
 * Writes an error as its protocol wants it: Connect with an HTTP status and JSON, the others in trailers. `httpStatus`: of Connect,
 * where it is not that of the error's code. `bodyRead`: nothing of the request's body is left to come.
 */
export const answerError = (
  res: ServerResponse,
  wire: Wire,
  error: ConnectError,
  bodyRead: boolean,
  beside: Beside,
  httpStatus: number = codeToHttpStatus(error.code),
): void => {
  if (wire.protocol.framed) {
    const trailers = addFields<OutgoingHttpHeaders>({ ...errorTrailers(error) }, beside.trailers);
    sendFramed(res, wire, { "content-type": wire.contentType, ...beside.headers }, Buffer.alloc(0), trailers, bodyRead);
    return;
  }
  const body = errorToJsonBytes(error, undefined);
  const headers: OutgoingHttpHeaders = { "content-type": "application/json", ...beside.headers, "content-length": body.length };
  addFields(headers, beside.trailers, "trailer-");
  send(res, { status: httpStatus, headers, body }, bodyRead);
};
